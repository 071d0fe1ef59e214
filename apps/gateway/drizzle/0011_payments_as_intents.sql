CREATE TABLE "payment_event" (
	"platform_name" text NOT NULL,
	"event_id" text NOT NULL,
	"intent_id" uuid,
	"status" text,
	"refunded_cents" integer NOT NULL,
	"via" text NOT NULL,
	"moved" boolean NOT NULL,
	"occurred_at" timestamp (3) with time zone NOT NULL,
	"received_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "payment_event_platform_name_event_id_pk" PRIMARY KEY("platform_name","event_id")
);
--> statement-breakpoint
CREATE TABLE "payment_feed" (
	"platform_name" text PRIMARY KEY NOT NULL,
	"read_to" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "payment_intent" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"idempotency_key" text NOT NULL,
	"amount_cents" integer NOT NULL,
	"currency" text NOT NULL,
	"platform_name" text NOT NULL,
	"platform_intent_id" text,
	"source" text,
	"source_label" text DEFAULT '' NOT NULL,
	"state" text NOT NULL,
	"failure" text,
	"next_url" text,
	"refunds_told_cents" integer DEFAULT 0 NOT NULL,
	"refunded_cents" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"finished_at" timestamp (3) with time zone,
	CONSTRAINT "payment_intent_refunded" CHECK ("payment_intent"."refunded_cents" between 0 and "payment_intent"."refunds_told_cents" and "payment_intent"."refunds_told_cents" <= "payment_intent"."amount_cents")
);
--> statement-breakpoint
CREATE TABLE "payment_refund" (
	"id" uuid PRIMARY KEY NOT NULL,
	"intent_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"amount_cents" integer NOT NULL,
	"owed_micro" bigint NOT NULL,
	"repaid_micro" bigint DEFAULT 0 NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "payment_refund_amounts" CHECK ("payment_refund"."amount_cents" > 0 and "payment_refund"."repaid_micro" between 0 and "payment_refund"."owed_micro")
);
--> statement-breakpoint
CREATE TABLE "testcard_event" (
	"event_id" text PRIMARY KEY NOT NULL,
	"intent_id" text NOT NULL,
	"body" text NOT NULL,
	"occurred_at" timestamp (3) with time zone NOT NULL,
	"deliver_at" timestamp (3) with time zone,
	"copies" integer NOT NULL,
	"tries" integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "testcard_intent" (
	"intent_id" text PRIMARY KEY NOT NULL,
	"reference" text NOT NULL,
	"amount_cents" integer NOT NULL,
	"currency" text NOT NULL,
	"card" text NOT NULL,
	"status" text NOT NULL,
	"failure" text,
	"refunded_cents" integer DEFAULT 0 NOT NULL,
	"page_token" text,
	"return_url" text,
	"moves_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "testcard_intent_refunded" CHECK ("testcard_intent"."refunded_cents" between 0 and "testcard_intent"."amount_cents")
);
--> statement-breakpoint
CREATE TABLE "testcard_method" (
	"method_id" text PRIMARY KEY NOT NULL,
	"idempotency_key" text NOT NULL,
	"card" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "testcard_refund" (
	"idempotency_key" text PRIMARY KEY NOT NULL,
	"intent_id" text NOT NULL,
	"amount_cents" integer NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "payment_refund" ADD CONSTRAINT "payment_refund_intent_id_payment_intent_id_fk" FOREIGN KEY ("intent_id") REFERENCES "public"."payment_intent"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "payment_event_intent" ON "payment_event" USING btree ("intent_id");--> statement-breakpoint
CREATE UNIQUE INDEX "payment_intent_key" ON "payment_intent" USING btree ("user_id","idempotency_key");--> statement-breakpoint
CREATE INDEX "payment_intent_user" ON "payment_intent" USING btree ("user_id","created_at");--> statement-breakpoint
CREATE INDEX "payment_intent_open" ON "payment_intent" USING btree ("id") WHERE "payment_intent"."state" in ('created', 'requires_action', 'processing');--> statement-breakpoint
CREATE INDEX "payment_refund_intent" ON "payment_refund" USING btree ("intent_id");--> statement-breakpoint
CREATE INDEX "payment_refund_user" ON "payment_refund" USING btree ("user_id","created_at");--> statement-breakpoint
CREATE INDEX "payment_refund_owed" ON "payment_refund" USING btree ("user_id") WHERE "payment_refund"."repaid_micro" < "payment_refund"."owed_micro";--> statement-breakpoint
CREATE INDEX "testcard_event_due" ON "testcard_event" USING btree ("deliver_at") WHERE "testcard_event"."deliver_at" is not null;--> statement-breakpoint
CREATE INDEX "testcard_event_occurred" ON "testcard_event" USING btree ("occurred_at","event_id");--> statement-breakpoint
CREATE UNIQUE INDEX "testcard_intent_reference" ON "testcard_intent" USING btree ("reference");--> statement-breakpoint
CREATE UNIQUE INDEX "testcard_intent_page" ON "testcard_intent" USING btree ("page_token") WHERE "testcard_intent"."page_token" is not null;--> statement-breakpoint
CREATE INDEX "testcard_intent_moves" ON "testcard_intent" USING btree ("moves_at") WHERE "testcard_intent"."moves_at" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "testcard_method_key" ON "testcard_method" USING btree ("idempotency_key");--> statement-breakpoint
-- What was charged before is an intent of the test platform, under the same id.
INSERT INTO "testcard_intent" ("intent_id", "reference", "amount_cents", "currency", "card", "status", "failure", "created_at")
SELECT "charge_id", "idempotency_key", "amount_cents", "currency", "request"->>'source',
  CASE WHEN "failure" IS NULL THEN 'succeeded' ELSE 'failed' END, "failure", "created_at"
FROM "testcard_charge";--> statement-breakpoint
-- A top-up that was never charged has no id at its platform; one that was refused has it there, by its reference.
INSERT INTO "payment_intent" ("id", "user_id", "idempotency_key", "amount_cents", "currency", "platform_name",
  "platform_intent_id", "source", "source_label", "state", "failure", "created_at", "finished_at")
SELECT "id", "user_id", "idempotency_key", "amount_cents", "currency", "platform_name",
  coalesce("charge_id", (SELECT "c"."charge_id" FROM "testcard_charge" "c" WHERE "c"."idempotency_key" = "topup"."id"::text AND "topup"."state" <> 'created')),
  "source", "source_label", CASE "state" WHEN 'settled' THEN 'succeeded' ELSE "state" END, "failure", "created_at", "finished_at"
FROM "topup";
