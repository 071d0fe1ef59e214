CREATE TABLE "offer_watch" (
	"id" uuid PRIMARY KEY NOT NULL,
	"place" bigint GENERATED ALWAYS AS IDENTITY (sequence name "offer_watch_place_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"user_id" uuid NOT NULL,
	"action" text NOT NULL,
	"region_code" text NOT NULL,
	"gpu_spec_id" text NOT NULL,
	"gpu_count" integer NOT NULL,
	"region_name" text NOT NULL,
	"gpu_spec_name" text NOT NULL,
	"price_max_micro_per_hour" bigint,
	"instance_name" text,
	"setup" jsonb,
	"until" timestamp (3) with time zone NOT NULL,
	"state" text DEFAULT 'waiting' NOT NULL,
	"armed" boolean NOT NULL,
	"held_by" text,
	"held_told" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"told_at" timestamp (3) with time zone,
	"next_try_at" timestamp (3) with time zone NOT NULL,
	"ended_at" timestamp (3) with time zone,
	"instance_id" text,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "notification_choice" ADD COLUMN "offer_watch" boolean DEFAULT true NOT NULL;--> statement-breakpoint
CREATE INDEX "offer_watch_user" ON "offer_watch" USING btree ("user_id","place");--> statement-breakpoint
CREATE INDEX "offer_watch_waiting" ON "offer_watch" USING btree ("region_code","gpu_spec_id","place") WHERE "offer_watch"."state" = 'waiting';