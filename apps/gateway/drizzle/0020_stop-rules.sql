ALTER TABLE "instance" ADD COLUMN "stop_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "instance" ADD COLUMN "spend_limit_cents" integer;