CREATE TABLE "creation" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"key_id" uuid,
	"kind" text NOT NULL,
	"model_id" text NOT NULL,
	"prompt" text NOT NULL,
	"negative_prompt" text NOT NULL,
	"seed" integer NOT NULL,
	"size" text NOT NULL,
	"count" integer NOT NULL,
	"seconds" integer,
	"image_file_id" uuid,
	"last_image_file_id" uuid,
	"mail" boolean NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"kept_until" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "creation_seconds" CHECK (("creation"."kind" = 'video') = ("creation"."seconds" is not null)),
	CONSTRAINT "creation_count" CHECK ("creation"."count" > 0)
);
--> statement-breakpoint
CREATE TABLE "creation_file" (
	"id" uuid PRIMARY KEY NOT NULL,
	"digest" text,
	"type" text NOT NULL,
	"bytes" bigint NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "creation_file_bytes" CHECK ("creation_file"."bytes" >= 0)
);
--> statement-breakpoint
CREATE TABLE "creation_item" (
	"id" uuid PRIMARY KEY NOT NULL,
	"creation_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"model_id" text NOT NULL,
	"number" integer NOT NULL,
	"seed" integer NOT NULL,
	"status" text NOT NULL,
	"starred" boolean DEFAULT false NOT NULL,
	"call_id" uuid NOT NULL,
	"cost_micro" bigint DEFAULT 0 NOT NULL,
	"file_id" uuid,
	"error_code" text,
	"error_reason" text,
	"percent" integer DEFAULT 0 NOT NULL,
	"frame" integer,
	"frames" integer,
	"created_at" timestamp (3) with time zone NOT NULL,
	"rendering_at" timestamp (3) with time zone,
	"encoding_at" timestamp (3) with time zone,
	"ended_at" timestamp (3) with time zone,
	"owner" text,
	"leased_until" timestamp (3) with time zone,
	"attempts" integer DEFAULT 0 NOT NULL,
	"server" text,
	"server_id" text,
	"asked_at" timestamp (3) with time zone,
	CONSTRAINT "creation_item_ends" CHECK (("creation_item"."ended_at" is null) = ("creation_item"."status" in ('queued', 'rendering', 'encoding'))),
	CONSTRAINT "creation_item_saved" CHECK (("creation_item"."file_id" is not null) = ("creation_item"."status" = 'saved')),
	CONSTRAINT "creation_item_error" CHECK (("creation_item"."error_code" is not null) = ("creation_item"."status" = 'failed')),
	CONSTRAINT "creation_item_cost" CHECK ("creation_item"."cost_micro" >= 0 and ("creation_item"."cost_micro" = 0 or "creation_item"."status" = 'saved')),
	CONSTRAINT "creation_item_star" CHECK (not "creation_item"."starred" or "creation_item"."status" = 'saved'),
	CONSTRAINT "creation_item_percent" CHECK ("creation_item"."percent" between 0 and 100)
);
--> statement-breakpoint
CREATE TABLE "creation_leftover" (
	"id" uuid PRIMARY KEY NOT NULL,
	"model_id" text NOT NULL,
	"server" text NOT NULL,
	"server_id" text NOT NULL,
	"at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "creation_piece" (
	"file_id" uuid NOT NULL,
	"number" integer NOT NULL,
	"bytes" "bytea" NOT NULL,
	CONSTRAINT "creation_piece_file_id_number_pk" PRIMARY KEY("file_id","number")
);
--> statement-breakpoint
CREATE TABLE "creation_upload" (
	"user_id" uuid NOT NULL,
	"file_id" uuid NOT NULL,
	"at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "creation_upload_user_id_file_id_pk" PRIMARY KEY("user_id","file_id")
);
--> statement-breakpoint
ALTER TABLE "creation" ADD CONSTRAINT "creation_image_file_id_creation_file_id_fk" FOREIGN KEY ("image_file_id") REFERENCES "public"."creation_file"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "creation" ADD CONSTRAINT "creation_last_image_file_id_creation_file_id_fk" FOREIGN KEY ("last_image_file_id") REFERENCES "public"."creation_file"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "creation_item" ADD CONSTRAINT "creation_item_file_id_creation_file_id_fk" FOREIGN KEY ("file_id") REFERENCES "public"."creation_file"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "creation_item" ADD CONSTRAINT "creation_item_creation_id_creation_id_fk" FOREIGN KEY ("creation_id") REFERENCES "public"."creation"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "creation_piece" ADD CONSTRAINT "creation_piece_file_id_creation_file_id_fk" FOREIGN KEY ("file_id") REFERENCES "public"."creation_file"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "creation_upload" ADD CONSTRAINT "creation_upload_file_id_creation_file_id_fk" FOREIGN KEY ("file_id") REFERENCES "public"."creation_file"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "creation_user" ON "creation" USING btree ("user_id","created_at","id");--> statement-breakpoint
CREATE INDEX "creation_kept_until" ON "creation" USING btree ("kept_until");--> statement-breakpoint
CREATE INDEX "creation_image" ON "creation" USING btree ("image_file_id") WHERE "creation"."image_file_id" is not null;--> statement-breakpoint
CREATE INDEX "creation_last_image" ON "creation" USING btree ("last_image_file_id") WHERE "creation"."last_image_file_id" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "creation_file_digest" ON "creation_file" USING btree ("digest","type") WHERE "creation_file"."digest" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "creation_item_number" ON "creation_item" USING btree ("creation_id","number");--> statement-breakpoint
CREATE INDEX "creation_item_user" ON "creation_item" USING btree ("user_id","created_at");--> statement-breakpoint
CREATE INDEX "creation_item_file" ON "creation_item" USING btree ("file_id") WHERE "creation_item"."file_id" is not null;--> statement-breakpoint
CREATE INDEX "creation_item_call" ON "creation_item" USING btree ("call_id");--> statement-breakpoint
CREATE INDEX "creation_item_open" ON "creation_item" USING btree ("created_at") WHERE "creation_item"."status" in ('queued', 'rendering', 'encoding');--> statement-breakpoint
CREATE INDEX "creation_item_made" ON "creation_item" USING btree ("model_id","ended_at") WHERE "creation_item"."status" = 'saved';--> statement-breakpoint
CREATE INDEX "creation_leftover_at" ON "creation_leftover" USING btree ("at");--> statement-breakpoint
CREATE INDEX "creation_upload_file" ON "creation_upload" USING btree ("file_id");--> statement-breakpoint
CREATE INDEX "creation_upload_at" ON "creation_upload" USING btree ("at");--> statement-breakpoint
-- Pictures and films are packed already: trying again costs time, and a part of a piece would be read by unpacking all of it.
ALTER TABLE "creation_piece" ALTER COLUMN "bytes" SET STORAGE EXTERNAL;
