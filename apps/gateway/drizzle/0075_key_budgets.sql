ALTER TABLE "budget" DROP CONSTRAINT "budget_scope";--> statement-breakpoint
ALTER TABLE "api_key" DROP CONSTRAINT "api_key_limits";--> statement-breakpoint
ALTER TABLE "budget" ADD COLUMN "key_id" uuid;--> statement-breakpoint
CREATE UNIQUE INDEX "budget_key" ON "budget" USING btree ("key_id") WHERE "budget"."key_id" is not null;--> statement-breakpoint
-- What a key may spend is its budget, which stops its calls.
INSERT INTO "budget" ("id", "user_id", "instance_id", "key_id", "period", "amount_cents", "stops", "created_at")
SELECT gen_random_uuid(), "user_id", null, "id", "spend_period", greatest("spend_limit_cents", 1), true, "created_at"
FROM "api_key" WHERE "spend_limit_cents" IS NOT NULL AND "revoked_at" IS NULL;--> statement-breakpoint
ALTER TABLE "api_key" DROP COLUMN "spend_limit_cents";--> statement-breakpoint
ALTER TABLE "api_key" DROP COLUMN "spend_period";--> statement-breakpoint
ALTER TABLE "budget" ADD CONSTRAINT "budget_scope" UNIQUE NULLS NOT DISTINCT("user_id","instance_id","key_id","period");--> statement-breakpoint
ALTER TABLE "budget" ADD CONSTRAINT "budget_of_one" CHECK ("budget"."instance_id" is null or "budget"."key_id" is null);--> statement-breakpoint
ALTER TABLE "api_key" ADD CONSTRAINT "api_key_limits" CHECK (("api_key"."requests_per_minute" is null or "api_key"."requests_per_minute" > 0)
        and ("api_key"."tokens_per_minute" is null or "api_key"."tokens_per_minute" > 0)
        and ("api_key"."models" is null or cardinality("api_key"."models") > 0));