ALTER TABLE "instance" ADD COLUMN "may_run" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "instance" ADD COLUMN "first_ran_at" timestamp (3) with time zone;--> statement-breakpoint
UPDATE "instance" SET "may_run" = true WHERE "status" = 'running' AND "terminated_at" IS NULL;--> statement-breakpoint
UPDATE "instance" SET "first_ran_at" = "created_at" WHERE "observed_at" IS NOT NULL;
