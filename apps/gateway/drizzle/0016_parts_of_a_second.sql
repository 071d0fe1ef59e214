ALTER TABLE "usage_interval" DROP CONSTRAINT "usage_interval_amounts";--> statement-breakpoint
ALTER TABLE "wallet" ADD COLUMN "rest_parts" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "usage_interval" ADD COLUMN "carried_parts" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "usage_interval" ADD COLUMN "rest_parts" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "usage_interval" ADD CONSTRAINT "usage_interval_amounts" CHECK ("usage_interval"."credits_micro" >= 0 and "usage_interval"."cash_micro" >= 0 and "usage_interval"."waived_micro" >= 0
        and "usage_interval"."rate_micro" >= 0 and "usage_interval"."rate_seconds" > 0
        and "usage_interval"."carried_parts" >= 0 and "usage_interval"."rest_parts" >= 0);