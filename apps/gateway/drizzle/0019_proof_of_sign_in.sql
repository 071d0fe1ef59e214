CREATE TABLE "sign_in_code" (
	"session_id" uuid PRIMARY KEY NOT NULL,
	"code_hash" text NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"tries" integer NOT NULL
);
--> statement-breakpoint
ALTER TABLE "session" ADD COLUMN "proven_at" timestamp (3) with time zone;--> statement-breakpoint
UPDATE "session" SET "proven_at" = "created_at";--> statement-breakpoint
ALTER TABLE "session" ALTER COLUMN "proven_at" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "sign_in_code" ADD CONSTRAINT "sign_in_code_session_id_session_id_fk" FOREIGN KEY ("session_id") REFERENCES "public"."session"("id") ON DELETE cascade ON UPDATE no action;