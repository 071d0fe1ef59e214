ALTER TABLE "payment_event" ADD COLUMN "disputed_cents" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "payment_event" ADD COLUMN "disputes_won_cents" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "payment_intent" ADD COLUMN "disputes_told_cents" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "payment_intent" ADD COLUMN "disputes_won_told_cents" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "payment_intent" ADD COLUMN "disputed_cents" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "payment_intent" ADD COLUMN "disputes_won_cents" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "payment_refund" ADD COLUMN "reason" text DEFAULT 'refund' NOT NULL;--> statement-breakpoint
ALTER TABLE "payment_intent" ADD CONSTRAINT "payment_intent_disputed" CHECK ("payment_intent"."disputed_cents" between 0 and "payment_intent"."disputes_told_cents"
        and "payment_intent"."disputes_won_cents" between 0 and "payment_intent"."disputes_won_told_cents"
        and "payment_intent"."disputes_told_cents" - "payment_intent"."disputes_won_told_cents" between 0 and "payment_intent"."amount_cents");