CREATE TABLE "image_build_line" (
	"image_id" text NOT NULL,
	"number" integer NOT NULL,
	"line" text NOT NULL,
	CONSTRAINT "image_build_line_image_id_number_pk" PRIMARY KEY("image_id","number")
);
--> statement-breakpoint
ALTER TABLE "own_image" ADD COLUMN "source_dockerfile" text;--> statement-breakpoint
ALTER TABLE "own_image" ADD COLUMN "source_git" jsonb;