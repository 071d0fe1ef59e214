CREATE TABLE "billing_address" (
	"user_id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"address" text NOT NULL,
	"tax_id" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "invoice" (
	"id" uuid PRIMARY KEY NOT NULL,
	"key" text NOT NULL,
	"user_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"ref_id" uuid,
	"series" text NOT NULL,
	"position" integer NOT NULL,
	"currency" text NOT NULL,
	"amount_cents" integer NOT NULL,
	"month" date,
	"from_micro" bigint,
	"to_micro" bigint,
	"page" jsonb NOT NULL,
	"issued_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "invoice_amount" CHECK ("invoice"."amount_cents" <> 0 and ("invoice"."amount_cents" < 0) = ("invoice"."kind" = 'refund') and "invoice"."position" > 0),
	CONSTRAINT "invoice_month" CHECK (("invoice"."kind" = 'usage') = ("invoice"."month" is not null) and ("invoice"."month" is null) = ("invoice"."from_micro" is null)
        and ("invoice"."month" is null) = ("invoice"."to_micro" is null) and ("invoice"."month" is null) = ("invoice"."ref_id" is not null))
);
--> statement-breakpoint
CREATE TABLE "invoice_month" (
	"month" date PRIMARY KEY NOT NULL,
	"done_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "invoice_series" (
	"series" text PRIMARY KEY NOT NULL,
	"last" integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE "refund_request" (
	"id" text PRIMARY KEY NOT NULL,
	"intent_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"amount_cents" integer NOT NULL,
	"state" text NOT NULL,
	"failure" text,
	"look_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	"finished_at" timestamp (3) with time zone,
	CONSTRAINT "refund_request_state" CHECK ("refund_request"."amount_cents" > 0 and ("refund_request"."state" = 'asked') = ("refund_request"."look_at" is not null)
        and ("refund_request"."state" = 'asked') = ("refund_request"."finished_at" is null))
);
--> statement-breakpoint
ALTER TABLE "invoice" ADD CONSTRAINT "invoice_series_invoice_series_series_fk" FOREIGN KEY ("series") REFERENCES "public"."invoice_series"("series") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "refund_request" ADD CONSTRAINT "refund_request_intent_id_payment_intent_id_fk" FOREIGN KEY ("intent_id") REFERENCES "public"."payment_intent"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "invoice_key" ON "invoice" USING btree ("key");--> statement-breakpoint
CREATE UNIQUE INDEX "invoice_number" ON "invoice" USING btree ("series","position");--> statement-breakpoint
CREATE INDEX "invoice_user" ON "invoice" USING btree ("user_id","issued_at","id");--> statement-breakpoint
CREATE INDEX "invoice_ref" ON "invoice" USING btree ("ref_id");--> statement-breakpoint
CREATE INDEX "refund_request_intent" ON "refund_request" USING btree ("intent_id");--> statement-breakpoint
CREATE INDEX "refund_request_user" ON "refund_request" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "refund_request_created" ON "refund_request" USING btree ("created_at","id");--> statement-breakpoint
CREATE INDEX "refund_request_open" ON "refund_request" USING btree ("look_at") WHERE "refund_request"."state" = 'asked';
--> statement-breakpoint
-- What was made out is never changed and never removed: a mistake is corrected by another document.
CREATE FUNCTION invoice_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'invoices are not changed: % of % is refused', tg_op, tg_table_name
    USING ERRCODE = 'restrict_violation';
END
$$;
--> statement-breakpoint
CREATE TRIGGER invoice_append_only BEFORE UPDATE OR DELETE ON invoice
  FOR EACH ROW EXECUTE FUNCTION invoice_refuse_change();
--> statement-breakpoint
CREATE TRIGGER invoice_keep_all BEFORE TRUNCATE ON invoice
  FOR EACH STATEMENT EXECUTE FUNCTION invoice_refuse_change();
