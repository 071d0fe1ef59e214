ALTER TABLE "payment_intent" DROP CONSTRAINT "payment_intent_refunded";--> statement-breakpoint
ALTER TABLE "payment_refund" DROP CONSTRAINT "payment_refund_amounts";--> statement-breakpoint
ALTER TABLE "testcard_intent" DROP CONSTRAINT "testcard_intent_refunded";--> statement-breakpoint
DROP INDEX "testcard_intent_page";--> statement-breakpoint
DROP INDEX "payment_intent_open";--> statement-breakpoint
ALTER TABLE "payment_event" ADD COLUMN "refunds_failed_cents" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "payment_intent" ADD COLUMN "source_brand" text;--> statement-breakpoint
ALTER TABLE "payment_intent" ADD COLUMN "source_last4" text;--> statement-breakpoint
ALTER TABLE "payment_intent" ADD COLUMN "next_url_box" "bytea";--> statement-breakpoint
ALTER TABLE "payment_intent" ADD COLUMN "next_url_key_id" text;--> statement-breakpoint
ALTER TABLE "payment_intent" ADD COLUMN "refunds_failed_told_cents" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "payment_intent" ADD COLUMN "refunds_failed_cents" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "payment_intent" ADD COLUMN "look_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "payment_refund" ADD COLUMN "failed_cents" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "testcard_intent" ADD COLUMN "refunds_failed_cents" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "payment_event_received" ON "payment_event" USING btree ("received_at");--> statement-breakpoint
CREATE INDEX "payment_intent_open" ON "payment_intent" USING btree ("look_at") WHERE "payment_intent"."state" in ('created', 'requires_action', 'processing');--> statement-breakpoint
-- A label was `Visa ending 4242`; whatever else it is stays whole.
UPDATE "payment_intent" SET
  "source_brand" = regexp_replace("source_label", ' ending \d{4}$', ''),
  "source_last4" = coalesce(substring("source_label" from ' ending (\d{4})$'), '');--> statement-breakpoint
ALTER TABLE "payment_intent" ALTER COLUMN "source_brand" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "payment_intent" ALTER COLUMN "source_last4" SET NOT NULL;--> statement-breakpoint
-- Recovery looks at each open payment at once; the address where one is confirmed is asked for again then.
UPDATE "payment_intent" SET "look_at" = "created_at"
WHERE "state" IN ('created', 'requires_action', 'processing');--> statement-breakpoint
UPDATE "testcard_event" SET "body" = ("body"::jsonb #- '{intent,page_token}')::text
WHERE "body" LIKE '%page_token%';--> statement-breakpoint
ALTER TABLE "payment_intent" DROP COLUMN "source_label";--> statement-breakpoint
ALTER TABLE "payment_intent" DROP COLUMN "next_url";--> statement-breakpoint
ALTER TABLE "testcard_intent" DROP COLUMN "page_token";--> statement-breakpoint
ALTER TABLE "payment_intent" ADD CONSTRAINT "payment_intent_refunded" CHECK ("payment_intent"."refunded_cents" between 0 and "payment_intent"."refunds_told_cents"
        and "payment_intent"."refunds_failed_cents" between 0 and "payment_intent"."refunds_failed_told_cents"
        and "payment_intent"."refunds_told_cents" - "payment_intent"."refunds_failed_told_cents" between 0 and "payment_intent"."amount_cents");--> statement-breakpoint
ALTER TABLE "payment_refund" ADD CONSTRAINT "payment_refund_amounts" CHECK ("payment_refund"."amount_cents" > 0 and "payment_refund"."failed_cents" between 0 and "payment_refund"."amount_cents"
        and "payment_refund"."repaid_micro" between 0 and "payment_refund"."owed_micro");--> statement-breakpoint
ALTER TABLE "testcard_intent" ADD CONSTRAINT "testcard_intent_refunded" CHECK ("testcard_intent"."refunds_failed_cents" between 0 and "testcard_intent"."refunded_cents"
        and "testcard_intent"."refunded_cents" - "testcard_intent"."refunds_failed_cents" <= "testcard_intent"."amount_cents");