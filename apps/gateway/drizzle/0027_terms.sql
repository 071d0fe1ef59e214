ALTER TABLE "instance" ADD COLUMN "expiry_time" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "instance" ADD COLUMN "auto_renew" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "instance" ADD COLUMN "term_micro" bigint;--> statement-breakpoint
ALTER TABLE "instance" ADD COLUMN "term_disk_micro" bigint;--> statement-breakpoint
ALTER TABLE "instance" ADD COLUMN "term_notice_day" integer;--> statement-breakpoint
CREATE UNIQUE INDEX "usage_interval_term" ON "usage_interval" USING btree ("subject_kind","subject_id","started_at") WHERE "usage_interval"."charge" = 'term' and "usage_interval"."ended_at" > "usage_interval"."started_at";