ALTER TABLE "instance" ALTER COLUMN "image_id" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "instance" ADD COLUMN "image_reference" text;--> statement-breakpoint
ALTER TABLE "instance" ADD COLUMN "registry_credential_id" uuid;--> statement-breakpoint
ALTER TABLE "instance" ADD COLUMN "secret_env" jsonb DEFAULT '[]'::jsonb NOT NULL;