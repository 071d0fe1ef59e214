CREATE TABLE "coupon" (
	"id" uuid PRIMARY KEY NOT NULL,
	"code" text NOT NULL,
	"currency" text NOT NULL,
	"amount_micro" bigint NOT NULL,
	"models_only" boolean NOT NULL,
	"starts_at" timestamp (3) with time zone NOT NULL,
	"ends_at" timestamp (3) with time zone,
	"per_customer_max" integer NOT NULL,
	"total_max" integer,
	"redeemed" integer DEFAULT 0 NOT NULL,
	"first_topup_only" boolean NOT NULL,
	"paid_min_micro" bigint NOT NULL,
	"credit_days" integer,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "coupon_limits" CHECK ("coupon"."amount_micro" > 0 and "coupon"."per_customer_max" > 0 and "coupon"."redeemed" >= 0
        and ("coupon"."total_max" is null or "coupon"."redeemed" <= "coupon"."total_max") and "coupon"."paid_min_micro" >= 0
        and ("coupon"."credit_days" is null or "coupon"."credit_days" > 0))
);
--> statement-breakpoint
CREATE TABLE "coupon_redemption" (
	"coupon_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"nth" integer NOT NULL,
	"grant_id" uuid NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "coupon_redemption_coupon_id_user_id_nth_pk" PRIMARY KEY("coupon_id","user_id","nth")
);
--> statement-breakpoint
CREATE TABLE "credit_end" (
	"id" uuid PRIMARY KEY NOT NULL,
	"grant_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"amount_micro" bigint NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "credit_end_amount" CHECK ("credit_end"."amount_micro" > 0)
);
--> statement-breakpoint
CREATE TABLE "credit_use" (
	"interval_id" uuid NOT NULL,
	"grant_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"amount_micro" bigint NOT NULL,
	CONSTRAINT "credit_use_interval_id_grant_id_pk" PRIMARY KEY("interval_id","grant_id"),
	CONSTRAINT "credit_use_amount" CHECK ("credit_use"."amount_micro" >= 0)
);
--> statement-breakpoint
ALTER TABLE "credit_grant" ADD COLUMN "rest_micro" bigint;--> statement-breakpoint
ALTER TABLE "credit_grant" ADD COLUMN "kind" text;--> statement-breakpoint
ALTER TABLE "credit_grant" ADD COLUMN "models_only" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "credit_grant" ADD COLUMN "ends_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "credit_grant" ADD COLUMN "ended_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "coupon_redemption" ADD CONSTRAINT "coupon_redemption_coupon_id_coupon_id_fk" FOREIGN KEY ("coupon_id") REFERENCES "public"."coupon"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "coupon_redemption" ADD CONSTRAINT "coupon_redemption_grant_id_credit_grant_id_fk" FOREIGN KEY ("grant_id") REFERENCES "public"."credit_grant"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "credit_end" ADD CONSTRAINT "credit_end_grant_id_credit_grant_id_fk" FOREIGN KEY ("grant_id") REFERENCES "public"."credit_grant"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "credit_use" ADD CONSTRAINT "credit_use_interval_id_usage_interval_id_fk" FOREIGN KEY ("interval_id") REFERENCES "public"."usage_interval"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "credit_use" ADD CONSTRAINT "credit_use_grant_id_credit_grant_id_fk" FOREIGN KEY ("grant_id") REFERENCES "public"."credit_grant"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "coupon_code" ON "coupon" USING btree ("code");--> statement-breakpoint
CREATE INDEX "coupon_redemption_user" ON "coupon_redemption" USING btree ("user_id","created_at");--> statement-breakpoint
CREATE UNIQUE INDEX "coupon_redemption_grant" ON "coupon_redemption" USING btree ("grant_id");--> statement-breakpoint
CREATE INDEX "credit_end_user" ON "credit_end" USING btree ("user_id","created_at");--> statement-breakpoint
CREATE INDEX "credit_end_grant" ON "credit_end" USING btree ("grant_id");--> statement-breakpoint
CREATE INDEX "credit_use_user" ON "credit_use" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "credit_use_grant" ON "credit_use" USING btree ("grant_id");--> statement-breakpoint
ALTER TABLE "credit_grant" ALTER COLUMN "models_only" DROP DEFAULT;--> statement-breakpoint
-- Credits were one pot: what was used of it is laid over the grants, the oldest first.
INSERT INTO "credit_use" ("interval_id", "grant_id", "user_id", "amount_micro")
SELECT used.id, given.id, given.user_id, least(given.until, used.until) - greatest(given.since, used.since)
FROM (
  SELECT id, user_id, sum(amount_micro) OVER earlier - amount_micro AS since, sum(amount_micro) OVER earlier AS until
  FROM "credit_grant" WINDOW earlier AS (PARTITION BY user_id ORDER BY created_at, id)
) given
JOIN (
  SELECT id, user_id, sum(credits_micro) OVER earlier - credits_micro AS since, sum(credits_micro) OVER earlier AS until
  FROM "usage_interval" WHERE credits_micro > 0 WINDOW earlier AS (PARTITION BY user_id ORDER BY started_at, id)
) used ON used.user_id = given.user_id AND used.since < given.until AND given.since < used.until;--> statement-breakpoint
UPDATE "credit_grant" SET "kind" = CASE "reason" WHEN 'demo' THEN 'demo' ELSE 'bonus' END,
  "rest_micro" = "amount_micro" - coalesce((SELECT sum(u.amount_micro) FROM "credit_use" u WHERE u.grant_id = "credit_grant".id), 0);--> statement-breakpoint
ALTER TABLE "credit_grant" ALTER COLUMN "rest_micro" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "credit_grant" ALTER COLUMN "kind" SET NOT NULL;--> statement-breakpoint
CREATE INDEX "credit_grant_left" ON "credit_grant" USING btree ("user_id","ends_at") WHERE "credit_grant"."rest_micro" > 0;--> statement-breakpoint
CREATE INDEX "credit_grant_ending" ON "credit_grant" USING btree ("ends_at") WHERE "credit_grant"."rest_micro" > 0 and "credit_grant"."ended_at" is null and "credit_grant"."ends_at" is not null;--> statement-breakpoint
ALTER TABLE "credit_grant" ADD CONSTRAINT "credit_grant_rest" CHECK ("credit_grant"."rest_micro" between 0 and "credit_grant"."amount_micro");