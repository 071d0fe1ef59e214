ALTER TABLE "session" ADD COLUMN "external_token" text;--> statement-breakpoint
ALTER TABLE "user_account" ADD COLUMN "external_seen_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "user_account" ADD COLUMN "external_password_at" timestamp (3) with time zone;