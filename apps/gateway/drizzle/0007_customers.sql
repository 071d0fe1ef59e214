CREATE TABLE "customer" (
	"id" uuid PRIMARY KEY NOT NULL,
	"opened_at" timestamp (3) with time zone NOT NULL,
	"closed_at" timestamp (3) with time zone
);
--> statement-breakpoint
INSERT INTO "customer" ("id", "opened_at", "closed_at")
SELECT "id", "created_at", "deleted_at" FROM "user_account";
