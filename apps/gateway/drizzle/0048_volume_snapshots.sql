CREATE TABLE "snapshot_schedule" (
	"volume_id" text PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"every" text NOT NULL,
	"hour" integer NOT NULL,
	"weekday" integer NOT NULL,
	"keep" integer NOT NULL,
	"next_at" timestamp (3) with time zone,
	"skipped_at" timestamp (3) with time zone,
	"skipped" text
);
--> statement-breakpoint
CREATE TABLE "volume_snapshot" (
	"id" text PRIMARY KEY NOT NULL,
	"place" bigint GENERATED ALWAYS AS IDENTITY (sequence name "volume_snapshot_place_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"user_id" uuid NOT NULL,
	"volume_id" text NOT NULL,
	"engine_id" text NOT NULL,
	"gb_max" integer NOT NULL,
	"status" text NOT NULL,
	"status_since" timestamp (3) with time zone NOT NULL,
	"reason_code" text,
	"reason_detail" text DEFAULT '' NOT NULL,
	"made_by" text NOT NULL,
	"slot_at" timestamp (3) with time zone,
	"taken_at" timestamp (3) with time zone,
	"in_use" boolean DEFAULT false NOT NULL,
	"used_bytes" bigint,
	"size_gb" integer,
	"micro_per_gb_day" bigint NOT NULL,
	"observed_at" timestamp (3) with time zone,
	"attempts" integer DEFAULT 0 NOT NULL,
	"next_attempt_at" timestamp (3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"deleted_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "volume" ADD COLUMN "from_snapshot_id" text;--> statement-breakpoint
CREATE INDEX "snapshot_schedule_next" ON "snapshot_schedule" USING btree ("next_at");--> statement-breakpoint
CREATE INDEX "volume_snapshot_volume" ON "volume_snapshot" USING btree ("volume_id","place");--> statement-breakpoint
CREATE UNIQUE INDEX "volume_snapshot_slot" ON "volume_snapshot" USING btree ("volume_id","slot_at") WHERE "volume_snapshot"."slot_at" is not null;--> statement-breakpoint
CREATE INDEX "volume_snapshot_live" ON "volume_snapshot" USING btree ("next_attempt_at") WHERE "volume_snapshot"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "volume_snapshot_engine" ON "volume_snapshot" USING btree ("engine_id") WHERE "volume_snapshot"."deleted_at" is null;