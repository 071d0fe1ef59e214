CREATE TABLE "s3_key" (
	"access_key_id" text PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"volume_id" text NOT NULL,
	"access" text NOT NULL,
	"secret" "bytea" NOT NULL,
	"key_id" text NOT NULL,
	"secret_end" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"last_used_at" timestamp (3) with time zone,
	"last_used_from" text,
	"ends_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE INDEX "s3_key_volume" ON "s3_key" USING btree ("volume_id");--> statement-breakpoint
CREATE INDEX "s3_key_user" ON "s3_key" USING btree ("user_id");