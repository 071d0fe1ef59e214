ALTER TABLE "instance" ADD COLUMN "unpaid_since" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "public_ip" ADD COLUMN "unpaid_since" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "public_ip" ADD COLUMN "unpaid_notice_day" integer;