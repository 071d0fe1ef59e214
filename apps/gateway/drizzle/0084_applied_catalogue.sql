CREATE TABLE "applied_catalogue" (
	"version" integer PRIMARY KEY NOT NULL,
	"source" text NOT NULL,
	"applied_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "held_catalogue" (
	"gateway_id" uuid PRIMARY KEY NOT NULL,
	"source" text NOT NULL,
	"version" integer NOT NULL,
	"trouble" text
);
--> statement-breakpoint
ALTER TABLE "volume" ADD COLUMN "wanted_micro_per_gb_day" bigint;--> statement-breakpoint
ALTER TABLE "held_catalogue" ADD CONSTRAINT "held_catalogue_gateway_id_gateway_id_fk" FOREIGN KEY ("gateway_id") REFERENCES "public"."gateway"("id") ON DELETE cascade ON UPDATE no action;