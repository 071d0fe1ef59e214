DROP INDEX "payment_method_card";--> statement-breakpoint
ALTER TABLE "payment_method" ADD COLUMN "next_url_box" "bytea";--> statement-breakpoint
ALTER TABLE "payment_method" ADD COLUMN "next_url_key_id" text;--> statement-breakpoint
ALTER TABLE "payment_method" ADD COLUMN "was_paid" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "payment_method" ADD COLUMN "asked_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "testcard_method" ADD COLUMN "status" text DEFAULT 'saved' NOT NULL;--> statement-breakpoint
ALTER TABLE "testcard_method" ADD COLUMN "failure" text;--> statement-breakpoint
ALTER TABLE "testcard_method" ADD COLUMN "return_url" text;--> statement-breakpoint
CREATE UNIQUE INDEX "payment_method_card" ON "payment_method" USING btree ("user_id","platform_name","fingerprint") WHERE "payment_method"."state" in ('saving', 'saved');