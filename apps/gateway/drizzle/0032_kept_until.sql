ALTER TABLE "instance" ADD COLUMN "kept_until" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "instance" ADD COLUMN "deletion_notice_day" integer;