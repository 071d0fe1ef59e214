CREATE TABLE "community_image" (
	"id" text PRIMARY KEY NOT NULL,
	"place" bigint GENERATED ALWAYS AS IDENTITY (sequence name "community_image_place_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"origin_id" text NOT NULL,
	"author_id" uuid,
	"author_name" text,
	"name" text NOT NULL,
	"description" text NOT NULL,
	"tags" text[] NOT NULL,
	"region_code" text NOT NULL,
	"kind" text NOT NULL,
	"version_info" text NOT NULL,
	"preloaded_models" text NOT NULL,
	"start_command" text NOT NULL,
	"http_ports" integer[] NOT NULL,
	"tcp_ports" integer[] NOT NULL,
	"min_vram_gb" integer NOT NULL,
	"readme" text NOT NULL,
	"driver" text NOT NULL,
	"digest" text,
	"size_bytes" bigint NOT NULL,
	"source_reference" text,
	"number" integer NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	"withdrawn_at" timestamp (3) with time zone,
	"deleted_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "community_image_version" (
	"image_id" text NOT NULL,
	"number" integer NOT NULL,
	"version_info" text NOT NULL,
	"size_bytes" bigint NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "community_image_version_image_id_number_pk" PRIMARY KEY("image_id","number")
);
--> statement-breakpoint
CREATE TABLE "image_deploy" (
	"image_id" text NOT NULL,
	"user_id" uuid NOT NULL,
	"day" date NOT NULL,
	CONSTRAINT "image_deploy_image_id_user_id_day_pk" PRIMARY KEY("image_id","user_id","day")
);
--> statement-breakpoint
CREATE TABLE "image_star" (
	"image_id" text NOT NULL,
	"user_id" uuid NOT NULL,
	"at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "image_star_image_id_user_id_pk" PRIMARY KEY("image_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "own_image" (
	"id" text PRIMARY KEY NOT NULL,
	"place" bigint GENERATED ALWAYS AS IDENTITY (sequence name "own_image_place_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"user_id" uuid NOT NULL,
	"name" text NOT NULL,
	"description" text NOT NULL,
	"tags" text[] NOT NULL,
	"region_code" text NOT NULL,
	"kind" text NOT NULL,
	"version_info" text NOT NULL,
	"preloaded_models" text NOT NULL,
	"start_command" text NOT NULL,
	"http_ports" integer[] NOT NULL,
	"tcp_ports" integer[] NOT NULL,
	"min_vram_gb" integer NOT NULL,
	"readme" text NOT NULL,
	"driver" text NOT NULL,
	"digest" text,
	"size_bytes" bigint NOT NULL,
	"source_reference" text,
	"source_instance_id" text,
	"source_instance_name" text,
	"source_credential_id" uuid,
	"engine_id" text NOT NULL,
	"status" text NOT NULL,
	"status_since" timestamp (3) with time zone NOT NULL,
	"reason_code" text,
	"reason_detail" text DEFAULT '' NOT NULL,
	"progress" jsonb,
	"number" integer DEFAULT 1 NOT NULL,
	"community_id" text,
	"review_since" timestamp (3) with time zone,
	"micro_per_gb_day" bigint NOT NULL,
	"unpaid_since" timestamp (3) with time zone,
	"unpaid_notice_day" integer,
	"attempts" integer DEFAULT 0 NOT NULL,
	"next_attempt_at" timestamp (3) with time zone NOT NULL,
	"lease_owner" uuid,
	"lease_until" timestamp (3) with time zone,
	"version" integer DEFAULT 1 NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	"deleted_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE UNIQUE INDEX "community_image_origin" ON "community_image" USING btree ("origin_id");--> statement-breakpoint
CREATE INDEX "image_deploy_user" ON "image_deploy" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "image_star_user" ON "image_star" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "own_image_user" ON "own_image" USING btree ("user_id","place");--> statement-breakpoint
CREATE INDEX "own_image_live" ON "own_image" USING btree ("next_attempt_at") WHERE "own_image"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "own_image_review" ON "own_image" USING btree ("review_since") WHERE "own_image"."status" = 'review';--> statement-breakpoint
CREATE UNIQUE INDEX "own_image_building" ON "own_image" USING btree ("source_instance_id") WHERE "own_image"."status" = 'building';