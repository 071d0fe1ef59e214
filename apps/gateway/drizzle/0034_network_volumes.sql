CREATE TABLE "volume" (
	"id" text PRIMARY KEY NOT NULL,
	"place" bigint GENERATED ALWAYS AS IDENTITY (sequence name "volume_place_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"user_id" uuid NOT NULL,
	"name" text NOT NULL,
	"region_code" text NOT NULL,
	"engine_id" text NOT NULL,
	"size_gb" integer NOT NULL,
	"wanted_gb" integer NOT NULL,
	"micro_per_gb_day" bigint NOT NULL,
	"status" text NOT NULL,
	"status_since" timestamp (3) with time zone NOT NULL,
	"reason_code" text,
	"reason_detail" text DEFAULT '' NOT NULL,
	"observed_at" timestamp (3) with time zone,
	"unpaid_since" timestamp (3) with time zone,
	"unpaid_notice_day" integer,
	"attempts" integer DEFAULT 0 NOT NULL,
	"next_attempt_at" timestamp (3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"deleted_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "instance" ADD COLUMN "network_volume" jsonb;--> statement-breakpoint
CREATE INDEX "volume_user" ON "volume" USING btree ("user_id","place");--> statement-breakpoint
CREATE UNIQUE INDEX "volume_name" ON "volume" USING btree ("user_id","name") WHERE "volume"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "volume_live" ON "volume" USING btree ("next_attempt_at") WHERE "volume"."deleted_at" is null;