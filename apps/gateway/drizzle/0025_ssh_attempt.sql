CREATE TABLE "ssh_attempt" (
	"instance_id" text PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"at" timestamp (3) with time zone NOT NULL,
	"address" text NOT NULL,
	"outcome" text NOT NULL,
	"fingerprint" text,
	"key_type" text
);
--> statement-breakpoint
CREATE INDEX "ssh_attempt_at" ON "ssh_attempt" USING btree ("at");