CREATE TABLE "gateway" (
	"id" uuid PRIMARY KEY NOT NULL,
	"address" text NOT NULL,
	"started_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"seen_until" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE INDEX "gateway_seen_until" ON "gateway" USING btree ("seen_until");