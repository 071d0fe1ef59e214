CREATE TABLE "instance_use" (
	"instance_id" text PRIMARY KEY NOT NULL,
	"used_at" timestamp (3) with time zone,
	"quiet_since" timestamp (3) with time zone,
	"seen_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "instance" ADD COLUMN "idle_stop_minutes" integer;