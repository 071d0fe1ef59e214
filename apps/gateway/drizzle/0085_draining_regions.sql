CREATE TABLE "region_drain" (
	"region_code" text PRIMARY KEY NOT NULL,
	"since" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "held_catalogue" ADD COLUMN "drained" text[] DEFAULT '{}' NOT NULL;