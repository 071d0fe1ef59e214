CREATE TABLE "image_cover" (
	"digest" text PRIMARY KEY NOT NULL,
	"webp" "bytea" NOT NULL,
	"width" integer NOT NULL,
	"height" integer NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "image_cover_upload" (
	"user_id" uuid NOT NULL,
	"digest" text NOT NULL,
	"at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "image_cover_upload_user_id_digest_pk" PRIMARY KEY("user_id","digest")
);
--> statement-breakpoint
ALTER TABLE "community_image" ADD COLUMN "cover" text;--> statement-breakpoint
ALTER TABLE "own_image" ADD COLUMN "cover" text;--> statement-breakpoint
CREATE INDEX "image_cover_upload_digest" ON "image_cover_upload" USING btree ("digest");--> statement-breakpoint
CREATE INDEX "image_cover_upload_at" ON "image_cover_upload" USING btree ("at");--> statement-breakpoint
CREATE INDEX "community_image_cover" ON "community_image" USING btree ("cover") WHERE "community_image"."cover" is not null;--> statement-breakpoint
CREATE INDEX "own_image_cover" ON "own_image" USING btree ("cover") WHERE "own_image"."cover" is not null;