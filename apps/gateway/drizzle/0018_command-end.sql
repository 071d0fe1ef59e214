ALTER TABLE "instance" ADD COLUMN "on_command_end" text DEFAULT 'keep' NOT NULL;--> statement-breakpoint
ALTER TABLE "instance" ADD COLUMN "command_end" jsonb;--> statement-breakpoint
ALTER TABLE "instance" ADD COLUMN "command_told_at" timestamp (3) with time zone;