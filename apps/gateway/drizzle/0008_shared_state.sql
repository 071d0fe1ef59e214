CREATE TABLE "rate_count" (
	"key" text PRIMARY KEY NOT NULL,
	"count" integer NOT NULL,
	"ends_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "kept_secret" (
	"id" text PRIMARY KEY NOT NULL,
	"purpose" text NOT NULL,
	"box" "bytea" NOT NULL,
	"key_id" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"ends_at" timestamp (3) with time zone,
	CONSTRAINT "kept_secret_purpose" CHECK ("kept_secret"."purpose" in ('root', 'installation', 'token', 'awaited')),
	CONSTRAINT "kept_secret_ends" CHECK ("kept_secret"."ends_at" is null or "kept_secret"."purpose" = 'token')
);

--> statement-breakpoint
-- The version before kept the keys in its data folder: whoever starts first with that folder brings them.
INSERT INTO "kept_secret" ("id", "purpose", "box", "key_id", "created_at")
SELECT 'root', 'awaited', ''::bytea, '', now() WHERE EXISTS (SELECT 1 FROM "user_account");
