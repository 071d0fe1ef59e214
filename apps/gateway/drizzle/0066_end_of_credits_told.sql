CREATE TABLE "credit_end_notice" (
	"grant_id" uuid NOT NULL,
	"days" integer NOT NULL,
	"told_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "credit_end_notice_grant_id_days_pk" PRIMARY KEY("grant_id","days")
);
--> statement-breakpoint
ALTER TABLE "credit_end_notice" ADD CONSTRAINT "credit_end_notice_grant_id_credit_grant_id_fk" FOREIGN KEY ("grant_id") REFERENCES "public"."credit_grant"("id") ON DELETE no action ON UPDATE no action;