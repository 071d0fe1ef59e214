CREATE TABLE "credit_grant" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"amount_micro" bigint NOT NULL,
	"reason" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ledger_account" (
	"id" text PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"user_id" uuid,
	"currency" text NOT NULL,
	"balance_micro" bigint,
	CONSTRAINT "ledger_account_floor" CHECK ("ledger_account"."balance_micro" is null or "ledger_account"."balance_micro" >= 0),
	CONSTRAINT "ledger_account_owner" CHECK (("ledger_account"."user_id" is null) = ("ledger_account"."balance_micro" is null))
);
--> statement-breakpoint
CREATE TABLE "ledger_transfer" (
	"id" uuid PRIMARY KEY NOT NULL,
	"key" text NOT NULL,
	"from_account" text NOT NULL,
	"to_account" text NOT NULL,
	"amount_micro" bigint NOT NULL,
	"kind" text NOT NULL,
	"ref_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "ledger_transfer_amount" CHECK ("ledger_transfer"."amount_micro" > 0),
	CONSTRAINT "ledger_transfer_sides" CHECK ("ledger_transfer"."from_account" <> "ledger_transfer"."to_account")
);
--> statement-breakpoint
CREATE TABLE "topup" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"idempotency_key" text NOT NULL,
	"amount_cents" integer NOT NULL,
	"currency" text NOT NULL,
	"platform_name" text NOT NULL,
	"source" text,
	"source_label" text DEFAULT '' NOT NULL,
	"state" text NOT NULL,
	"charge_id" text,
	"failure" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	"finished_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "usage_interval" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"instance_id" text NOT NULL,
	"usage" text NOT NULL,
	"rate_micro_per_hour" bigint NOT NULL,
	"instance_name" text NOT NULL,
	"gpu_spec_name" text NOT NULL,
	"gpu_count" integer NOT NULL,
	"started_at" timestamp (3) with time zone NOT NULL,
	"ended_at" timestamp (3) with time zone,
	"posted_micro" bigint NOT NULL,
	"waived_micro" bigint NOT NULL,
	"posted_at" timestamp (3) with time zone,
	"postings" integer DEFAULT 0 NOT NULL,
	CONSTRAINT "usage_interval_amounts" CHECK ("usage_interval"."posted_micro" >= 0 and "usage_interval"."waived_micro" >= 0),
	CONSTRAINT "usage_interval_order" CHECK ("usage_interval"."ended_at" is null or "usage_interval"."ended_at" >= "usage_interval"."started_at")
);
--> statement-breakpoint
CREATE TABLE "wallet" (
	"user_id" uuid PRIMARY KEY NOT NULL,
	"currency" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "wallet_hold" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"instance_id" text NOT NULL,
	"amount_micro" bigint NOT NULL,
	"used_micro" bigint DEFAULT 0 NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"released_at" timestamp (3) with time zone,
	CONSTRAINT "wallet_hold_amount" CHECK ("wallet_hold"."amount_micro" >= 0 and "wallet_hold"."used_micro" between 0 and "wallet_hold"."amount_micro")
);
--> statement-breakpoint
CREATE TABLE "attempt" (
	"key" text PRIMARY KEY NOT NULL,
	"count" integer NOT NULL,
	"started_at" timestamp (3) with time zone NOT NULL,
	"blocked_until" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "link_token" (
	"hash" text PRIMARY KEY NOT NULL,
	"purpose" text NOT NULL,
	"user_id" uuid NOT NULL,
	"email" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"used_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "session" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"revoked_at" timestamp (3) with time zone,
	"last_seen_at" timestamp (3) with time zone NOT NULL,
	"user_agent" text NOT NULL,
	"address" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "user_account" (
	"id" uuid PRIMARY KEY NOT NULL,
	"number" bigint GENERATED ALWAYS AS IDENTITY (sequence name "user_account_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 100001 CACHE 1),
	"email" text NOT NULL,
	"display_name" text NOT NULL,
	"avatar" text DEFAULT '' NOT NULL,
	"provider" text DEFAULT '' NOT NULL,
	"password_hash" text,
	"need_update_password" boolean DEFAULT false NOT NULL,
	"email_verified_at" timestamp (3) with time zone,
	"language" text DEFAULT 'en' NOT NULL,
	"referral_code" text,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "installation" (
	"id" text NOT NULL,
	"driver" text NOT NULL,
	"first_seen_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "installation_id_driver_pk" PRIMARY KEY("id","driver")
);
--> statement-breakpoint
CREATE TABLE "instance" (
	"id" text PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"idempotency_key" text NOT NULL,
	"name" text NOT NULL,
	"kind" text NOT NULL,
	"region_code" text NOT NULL,
	"gpu_spec_id" text NOT NULL,
	"gpu_count" integer NOT NULL,
	"simulated" boolean NOT NULL,
	"spec" jsonb NOT NULL,
	"gpu_uuids" jsonb NOT NULL,
	"image_id" text NOT NULL,
	"billing_type" text NOT NULL,
	"charge_cycle" text,
	"container_disk_gb" integer NOT NULL,
	"http_ports" jsonb NOT NULL,
	"tcp_ports" jsonb NOT NULL,
	"env" jsonb NOT NULL,
	"start_command" text NOT NULL,
	"running_micro_per_hour" bigint NOT NULL,
	"stopped_micro_per_hour" bigint NOT NULL,
	"service_secret" text NOT NULL,
	"desired" text NOT NULL,
	"restarts_asked" integer DEFAULT 0 NOT NULL,
	"restarts_done" integer DEFAULT 0 NOT NULL,
	"start_key" text,
	"status" text NOT NULL,
	"reason_code" text,
	"reason_detail" text,
	"progress" jsonb,
	"driver" text,
	"installation_id" text,
	"holds_gpus" boolean NOT NULL,
	"ready_at" timestamp (3) with time zone,
	"stopped_at" timestamp (3) with time zone,
	"observed_at" timestamp (3) with time zone,
	"status_since" timestamp (3) with time zone NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"failure_code" text,
	"failure_detail" text,
	"next_attempt_at" timestamp (3) with time zone NOT NULL,
	"lease_owner" text,
	"lease_until" timestamp (3) with time zone,
	"version" integer DEFAULT 1 NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"terminated_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "instance_event" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "instance_event_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"instance_id" text NOT NULL,
	"user_id" uuid NOT NULL,
	"at" timestamp (3) with time zone NOT NULL,
	"status" text NOT NULL,
	"code" text NOT NULL,
	"detail" text DEFAULT '' NOT NULL
);
--> statement-breakpoint
CREATE TABLE "terminal_ticket" (
	"hash" text PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"session_id" uuid NOT NULL,
	"instance_id" text NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"used_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "gpu_stock" (
	"region_code" text NOT NULL,
	"gpu_spec_id" text NOT NULL,
	"total" integer NOT NULL,
	CONSTRAINT "gpu_stock_region_code_gpu_spec_id_pk" PRIMARY KEY("region_code","gpu_spec_id")
);
--> statement-breakpoint
CREATE TABLE "mailbox_mail" (
	"id" uuid PRIMARY KEY NOT NULL,
	"to" text NOT NULL,
	"subject" text NOT NULL,
	"text" text NOT NULL,
	"sent_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "testcard_charge" (
	"idempotency_key" text PRIMARY KEY NOT NULL,
	"charge_id" text NOT NULL,
	"amount_cents" integer NOT NULL,
	"currency" text NOT NULL,
	"label" text NOT NULL,
	"failure" text,
	"request" jsonb NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "idempotency" (
	"user_id" text NOT NULL,
	"operation" text NOT NULL,
	"key" text NOT NULL,
	"body_hash" text NOT NULL,
	"state" text NOT NULL,
	"lease_until" timestamp (3) with time zone NOT NULL,
	"http_status" integer,
	"answer" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "idempotency_user_id_operation_key_pk" PRIMARY KEY("user_id","operation","key"),
	CONSTRAINT "idempotency_state" CHECK ("idempotency"."state" in ('running', 'done'))
);
--> statement-breakpoint
CREATE TABLE "lease" (
	"name" text PRIMARY KEY NOT NULL,
	"owner" text NOT NULL,
	"until" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "ledger_transfer" ADD CONSTRAINT "ledger_transfer_from_account_ledger_account_id_fk" FOREIGN KEY ("from_account") REFERENCES "public"."ledger_account"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ledger_transfer" ADD CONSTRAINT "ledger_transfer_to_account_ledger_account_id_fk" FOREIGN KEY ("to_account") REFERENCES "public"."ledger_account"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "link_token" ADD CONSTRAINT "link_token_user_id_user_account_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."user_account"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "session" ADD CONSTRAINT "session_user_id_user_account_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."user_account"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "credit_grant_user" ON "credit_grant" USING btree ("user_id","created_at");--> statement-breakpoint
CREATE INDEX "ledger_account_user" ON "ledger_account" USING btree ("user_id");--> statement-breakpoint
CREATE UNIQUE INDEX "ledger_transfer_key" ON "ledger_transfer" USING btree ("key");--> statement-breakpoint
CREATE INDEX "ledger_transfer_ref" ON "ledger_transfer" USING btree ("ref_id");--> statement-breakpoint
CREATE INDEX "ledger_transfer_user" ON "ledger_transfer" USING btree ("user_id","created_at");--> statement-breakpoint
CREATE UNIQUE INDEX "topup_key" ON "topup" USING btree ("user_id","idempotency_key");--> statement-breakpoint
CREATE INDEX "topup_user" ON "topup" USING btree ("user_id","created_at");--> statement-breakpoint
CREATE INDEX "topup_open" ON "topup" USING btree ("created_at") WHERE "topup"."state" = 'created';--> statement-breakpoint
CREATE UNIQUE INDEX "usage_interval_open" ON "usage_interval" USING btree ("instance_id") WHERE "usage_interval"."ended_at" is null;--> statement-breakpoint
CREATE INDEX "usage_interval_user" ON "usage_interval" USING btree ("user_id","started_at");--> statement-breakpoint
CREATE INDEX "usage_interval_user_open" ON "usage_interval" USING btree ("user_id") WHERE "usage_interval"."ended_at" is null;--> statement-breakpoint
CREATE INDEX "usage_interval_instance" ON "usage_interval" USING btree ("instance_id");--> statement-breakpoint
CREATE INDEX "wallet_hold_user_open" ON "wallet_hold" USING btree ("user_id") WHERE "wallet_hold"."released_at" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "wallet_hold_open" ON "wallet_hold" USING btree ("instance_id") WHERE "wallet_hold"."released_at" is null;--> statement-breakpoint
CREATE INDEX "attempt_started" ON "attempt" USING btree ("started_at");--> statement-breakpoint
CREATE INDEX "link_token_user" ON "link_token" USING btree ("user_id","purpose","created_at");--> statement-breakpoint
CREATE INDEX "session_user" ON "session" USING btree ("user_id");--> statement-breakpoint
CREATE UNIQUE INDEX "user_account_email" ON "user_account" USING btree ("email");--> statement-breakpoint
CREATE UNIQUE INDEX "instance_key" ON "instance" USING btree ("user_id","idempotency_key");--> statement-breakpoint
CREATE INDEX "instance_user" ON "instance" USING btree ("user_id","created_at");--> statement-breakpoint
CREATE UNIQUE INDEX "instance_secret" ON "instance" USING btree ("service_secret");--> statement-breakpoint
CREATE INDEX "instance_live" ON "instance" USING btree ("next_attempt_at") WHERE "instance"."terminated_at" is null;--> statement-breakpoint
CREATE INDEX "instance_event_instance" ON "instance_event" USING btree ("instance_id","id");--> statement-breakpoint
CREATE INDEX "mailbox_mail_sent" ON "mailbox_mail" USING btree ("sent_at" desc);