CREATE TABLE "leaving_customer" (
	"user_id" uuid NOT NULL,
	"platform_name" text NOT NULL,
	"look_at" timestamp (3) with time zone NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "leaving_customer_user_id_platform_name_pk" PRIMARY KEY("user_id","platform_name")
);
--> statement-breakpoint
ALTER TABLE "payment_method" ADD COLUMN "is_forgetting" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "testcard_intent" ADD COLUMN "disputed_cents" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "testcard_intent" ADD COLUMN "disputes_won_cents" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "leaving_customer_due" ON "leaving_customer" USING btree ("look_at");--> statement-breakpoint
ALTER TABLE "testcard_intent" ADD CONSTRAINT "testcard_intent_disputed" CHECK ("testcard_intent"."disputes_won_cents" between 0 and "testcard_intent"."disputed_cents"
        and "testcard_intent"."disputed_cents" - "testcard_intent"."disputes_won_cents" <= "testcard_intent"."amount_cents");--> statement-breakpoint
-- Accounts that were deleted before are forgotten there, too.
INSERT INTO "leaving_customer" ("user_id", "platform_name", "look_at", "created_at")
SELECT c."user_id", 'stripe', now(), now() FROM "stripe_customer" c
JOIN "user_account" u ON u."id" = c."user_id" WHERE u."deleted_at" IS NOT NULL;
