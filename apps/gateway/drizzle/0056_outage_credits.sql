CREATE TABLE "outage_credit" (
	"grant_id" uuid PRIMARY KEY NOT NULL,
	"instance_id" text NOT NULL,
	"instance_name" text NOT NULL,
	"started_at" timestamp (3) with time zone NOT NULL,
	"ended_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "outage_credit" ADD CONSTRAINT "outage_credit_grant_id_credit_grant_id_fk" FOREIGN KEY ("grant_id") REFERENCES "public"."credit_grant"("id") ON DELETE no action ON UPDATE no action;