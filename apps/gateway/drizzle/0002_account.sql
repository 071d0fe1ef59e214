CREATE TABLE "audit_entry" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"actor" text NOT NULL,
	"action" text NOT NULL,
	"target" text DEFAULT '' NOT NULL,
	"refused" text DEFAULT '' NOT NULL,
	"session_id" uuid,
	"address" text DEFAULT '' NOT NULL,
	"user_agent" text DEFAULT '' NOT NULL,
	"at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "captcha" (
	"id" text PRIMARY KEY NOT NULL,
	"image_answer_hash" text NOT NULL,
	"question_answer_hash" text NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"used_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "linked_identity" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"provider" text NOT NULL,
	"subject" text NOT NULL,
	"username" text NOT NULL,
	"email" text NOT NULL,
	"linked_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "provider_visit" (
	"state_hash" text PRIMARY KEY NOT NULL,
	"provider" text NOT NULL,
	"purpose" text NOT NULL,
	"user_id" uuid,
	"browser_key_hash" text NOT NULL,
	"nonce" text NOT NULL,
	"code_verifier" text NOT NULL,
	"redirect_uri" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"used_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "api_key" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"name" text NOT NULL,
	"prefix" text NOT NULL,
	"hash" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"last_used_at" timestamp (3) with time zone,
	"expires_at" timestamp (3) with time zone,
	"revoked_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "balance_alert" (
	"user_id" uuid NOT NULL,
	"hours" integer NOT NULL,
	"sent_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "balance_alert_user_id_hours_pk" PRIMARY KEY("user_id","hours")
);
--> statement-breakpoint
CREATE TABLE "notification_choice" (
	"user_id" uuid PRIMARY KEY NOT NULL,
	"new_sign_in" boolean NOT NULL,
	"key_added" boolean NOT NULL,
	"top_up_receipt" boolean NOT NULL,
	"instance_trouble" boolean NOT NULL,
	"balance_low" boolean NOT NULL,
	"alert_hours" integer[] NOT NULL
);
--> statement-breakpoint
CREATE TABLE "registry_credential" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"name" text NOT NULL,
	"registry" text NOT NULL,
	"username" text NOT NULL,
	"password" "bytea" NOT NULL,
	"key_id" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	"checked_at" timestamp (3) with time zone,
	"check_result" text
);
--> statement-breakpoint
CREATE TABLE "ssh_key" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"name" text NOT NULL,
	"type" text NOT NULL,
	"bits" integer,
	"fingerprint" text NOT NULL,
	"public_key" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "user_account" ADD COLUMN "external_id" text;--> statement-breakpoint
ALTER TABLE "user_account" ADD COLUMN "deleted_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "linked_identity" ADD CONSTRAINT "linked_identity_user_id_user_account_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."user_account"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "provider_visit" ADD CONSTRAINT "provider_visit_user_id_user_account_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."user_account"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "audit_entry_user" ON "audit_entry" USING btree ("user_id","id");--> statement-breakpoint
CREATE INDEX "audit_entry_at" ON "audit_entry" USING btree ("at");--> statement-breakpoint
CREATE INDEX "captcha_expires" ON "captcha" USING btree ("expires_at");--> statement-breakpoint
CREATE UNIQUE INDEX "linked_identity_subject" ON "linked_identity" USING btree ("provider","subject");--> statement-breakpoint
CREATE UNIQUE INDEX "linked_identity_user" ON "linked_identity" USING btree ("user_id","provider");--> statement-breakpoint
CREATE INDEX "provider_visit_expires" ON "provider_visit" USING btree ("expires_at");--> statement-breakpoint
CREATE UNIQUE INDEX "api_key_hash" ON "api_key" USING btree ("hash");--> statement-breakpoint
CREATE INDEX "api_key_user" ON "api_key" USING btree ("user_id");--> statement-breakpoint
CREATE UNIQUE INDEX "registry_credential_name" ON "registry_credential" USING btree ("user_id","name");--> statement-breakpoint
CREATE INDEX "ssh_key_user" ON "ssh_key" USING btree ("user_id");--> statement-breakpoint
CREATE UNIQUE INDEX "ssh_key_fingerprint" ON "ssh_key" USING btree ("user_id","fingerprint");--> statement-breakpoint
CREATE UNIQUE INDEX "user_account_external" ON "user_account" USING btree ("external_id");