CREATE TABLE "auto_topup" (
	"user_id" uuid PRIMARY KEY NOT NULL,
	"enabled" boolean NOT NULL,
	"threshold_cents" integer NOT NULL,
	"amount_cents" integer NOT NULL,
	"monthly_cap_cents" integer NOT NULL,
	"method_id" uuid,
	"declines" integer DEFAULT 0 NOT NULL,
	"next_try_at" timestamp (3) with time zone,
	"halt" text,
	"refused_at" timestamp (3) with time zone,
	"refused_for" text,
	"refused_brand" text,
	"refused_last4" text,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "auto_topup_amounts" CHECK ("auto_topup"."threshold_cents" > 0 and "auto_topup"."amount_cents" > 0
        and "auto_topup"."monthly_cap_cents" >= "auto_topup"."amount_cents")
);
--> statement-breakpoint
CREATE TABLE "payment_method" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"platform_name" text NOT NULL,
	"state" text NOT NULL,
	"source" text,
	"platform_page_id" text,
	"platform_method_id" text,
	"fingerprint" text NOT NULL,
	"brand" text NOT NULL,
	"last4" text NOT NULL,
	"expiry_month" integer,
	"expiry_year" integer,
	"is_default" boolean DEFAULT false NOT NULL,
	"refused_at" timestamp (3) with time zone,
	"refused_for" text,
	"look_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "payment_method_saved" CHECK ("payment_method"."state" <> 'saved' or ("payment_method"."platform_method_id" is not null and "payment_method"."source" is null)),
	CONSTRAINT "payment_method_default_saved" CHECK (not "payment_method"."is_default" or "payment_method"."state" = 'saved')
);
--> statement-breakpoint
ALTER TABLE "payment_intent" ADD COLUMN "method_id" uuid;--> statement-breakpoint
ALTER TABLE "payment_intent" ADD COLUMN "saves_method" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "payment_intent" ADD COLUMN "origin" text DEFAULT 'customer' NOT NULL;--> statement-breakpoint
CREATE INDEX "auto_topup_on" ON "auto_topup" USING btree ("user_id") WHERE "auto_topup"."enabled";--> statement-breakpoint
CREATE INDEX "payment_method_user" ON "payment_method" USING btree ("user_id","created_at");--> statement-breakpoint
CREATE UNIQUE INDEX "payment_method_default" ON "payment_method" USING btree ("user_id") WHERE "payment_method"."is_default";--> statement-breakpoint
CREATE UNIQUE INDEX "payment_method_card" ON "payment_method" USING btree ("user_id","platform_name","fingerprint") WHERE "payment_method"."state" <> 'removing';--> statement-breakpoint
CREATE INDEX "payment_method_open" ON "payment_method" USING btree ("look_at") WHERE "payment_method"."look_at" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "payment_intent_auto" ON "payment_intent" USING btree ("user_id") WHERE "payment_intent"."origin" = 'auto' and "payment_intent"."state" in ('created', 'requires_action', 'processing');--> statement-breakpoint
CREATE INDEX "payment_intent_method" ON "payment_intent" USING btree ("method_id") WHERE "payment_intent"."method_id" is not null and "payment_intent"."state" in ('created', 'requires_action', 'processing');