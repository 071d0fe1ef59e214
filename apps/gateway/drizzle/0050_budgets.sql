CREATE TABLE "budget" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"instance_id" text,
	"period" text NOT NULL,
	"amount_cents" integer NOT NULL,
	"stops" boolean NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "budget_scope" UNIQUE NULLS NOT DISTINCT("user_id","instance_id","period"),
	CONSTRAINT "budget_amount" CHECK ("budget"."amount_cents" > 0)
);
--> statement-breakpoint
CREATE TABLE "budget_crossing" (
	"budget_id" uuid NOT NULL,
	"since" timestamp (3) with time zone NOT NULL,
	"share" smallint NOT NULL,
	"at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "budget_crossing_budget_id_since_share_pk" PRIMARY KEY("budget_id","since","share")
);
--> statement-breakpoint
ALTER TABLE "budget_crossing" ADD CONSTRAINT "budget_crossing_budget_id_budget_id_fk" FOREIGN KEY ("budget_id") REFERENCES "public"."budget"("id") ON DELETE cascade ON UPDATE no action;