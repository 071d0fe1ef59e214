CREATE TABLE "usage_day" (
	"interval_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"day" date NOT NULL,
	"part" text NOT NULL,
	"back" boolean NOT NULL,
	"entries" integer NOT NULL,
	"amount_micro" bigint NOT NULL,
	CONSTRAINT "usage_day_interval_id_day_part_back_pk" PRIMARY KEY("interval_id","day","part","back"),
	CONSTRAINT "usage_day_amount" CHECK ("usage_day"."amount_micro" > 0 and "usage_day"."entries" > 0)
);
--> statement-breakpoint
CREATE TABLE "usage_meter" (
	"interval_id" uuid NOT NULL,
	"position" smallint NOT NULL,
	"sku" text NOT NULL,
	"label" text NOT NULL,
	"unit" text NOT NULL,
	"quantity" bigint NOT NULL,
	"rate_micro" bigint NOT NULL,
	CONSTRAINT "usage_meter_interval_id_position_pk" PRIMARY KEY("interval_id","position"),
	CONSTRAINT "usage_meter_amounts" CHECK ("usage_meter"."quantity" >= 0 and "usage_meter"."rate_micro" >= 0)
);
--> statement-breakpoint
ALTER TABLE "usage_interval" DROP CONSTRAINT "usage_interval_amounts";--> statement-breakpoint
DROP INDEX "usage_interval_instance";--> statement-breakpoint
DROP INDEX "usage_interval_open";--> statement-breakpoint
DROP INDEX "usage_interval_user";--> statement-breakpoint
DROP INDEX "wallet_hold_open";--> statement-breakpoint
-- What is kept under another name.
ALTER TABLE "usage_interval" RENAME COLUMN "instance_id" TO "subject_id";--> statement-breakpoint
ALTER TABLE "usage_interval" RENAME COLUMN "instance_name" TO "subject_name";--> statement-breakpoint
ALTER TABLE "usage_interval" RENAME COLUMN "rate_micro_per_hour" TO "rate_micro";--> statement-breakpoint
ALTER TABLE "wallet_hold" RENAME COLUMN "instance_id" TO "subject_id";--> statement-breakpoint
-- Until now only instances cost anything, by the hour. The defaults fill the rows that are there, and go.
ALTER TABLE "wallet_hold" ADD COLUMN "subject_kind" text NOT NULL DEFAULT 'instance';--> statement-breakpoint
ALTER TABLE "wallet_hold" ALTER COLUMN "subject_kind" DROP DEFAULT;--> statement-breakpoint
ALTER TABLE "usage_interval" ADD COLUMN "subject_kind" text NOT NULL DEFAULT 'instance';--> statement-breakpoint
ALTER TABLE "usage_interval" ADD COLUMN "subject_facts" jsonb;--> statement-breakpoint
ALTER TABLE "usage_interval" ADD COLUMN "charge" text NOT NULL DEFAULT 'by_time';--> statement-breakpoint
ALTER TABLE "usage_interval" ADD COLUMN "stops_when_empty" boolean NOT NULL DEFAULT false;--> statement-breakpoint
ALTER TABLE "usage_interval" ADD COLUMN "rate_seconds" integer NOT NULL DEFAULT 3600;--> statement-breakpoint
ALTER TABLE "usage_interval" ADD COLUMN "credits_micro" bigint NOT NULL DEFAULT 0;--> statement-breakpoint
ALTER TABLE "usage_interval" ADD COLUMN "cash_micro" bigint NOT NULL DEFAULT 0;--> statement-breakpoint
ALTER TABLE "usage_interval" ADD COLUMN "posted_until" timestamp (3) with time zone NOT NULL DEFAULT now();--> statement-breakpoint
ALTER TABLE "usage_interval" ALTER COLUMN "subject_kind" DROP DEFAULT, ALTER COLUMN "charge" DROP DEFAULT,
  ALTER COLUMN "stops_when_empty" DROP DEFAULT, ALTER COLUMN "rate_seconds" DROP DEFAULT,
  ALTER COLUMN "credits_micro" DROP DEFAULT, ALTER COLUMN "cash_micro" DROP DEFAULT,
  ALTER COLUMN "posted_until" DROP DEFAULT;--> statement-breakpoint
-- An open stretch is posted up to the first second at which the formula gives what it has posted and waived.
UPDATE "usage_interval" SET
  "subject_facts" = jsonb_build_object('gpu_spec_name', "gpu_spec_name", 'gpu_count', "gpu_count"),
  "stops_when_empty" = "usage" = 'compute',
  "posted_until" = coalesce("ended_at", "started_at" + interval '1 second' *
    coalesce(ceil(("posted_micro" + "waived_micro")::numeric * 3600 / nullif("rate_micro", 0)), 0)::bigint);
--> statement-breakpoint
-- From which account each was paid, as the ledger has it.
UPDATE "usage_interval" i SET "credits_micro" = paid.credits, "cash_micro" = paid.cash
FROM (
  SELECT t.ref_id,
    sum(CASE WHEN t.from_account LIKE 'user:%:credits' THEN t.amount_micro
      WHEN t.to_account LIKE 'user:%:credits' THEN -t.amount_micro ELSE 0 END) AS credits,
    sum(CASE WHEN t.from_account LIKE 'user:%:cash' THEN t.amount_micro
      WHEN t.to_account LIKE 'user:%:cash' THEN -t.amount_micro ELSE 0 END) AS cash
  FROM "ledger_transfer" t WHERE t.kind = 'usage' GROUP BY t.ref_id
) paid WHERE paid.ref_id = i.id;--> statement-breakpoint
INSERT INTO "usage_day" ("interval_id", "user_id", "day", "part", "back", "entries", "amount_micro")
SELECT t.ref_id, t.user_id, (t.created_at AT TIME ZONE 'UTC')::date,
  CASE WHEN t.kind = 'write_off' THEN 'write_off'
    WHEN t.from_account LIKE '%:credits' OR t.to_account LIKE '%:credits' THEN 'credits' ELSE 'cash' END,
  t.from_account LIKE 'house:revenue:%', count(*), sum(t.amount_micro)
FROM "ledger_transfer" t WHERE t.kind IN ('usage', 'write_off') GROUP BY 1, 2, 3, 4, 5;--> statement-breakpoint
-- A machine and its disk were one rate: they stay one meter in what has run so far.
INSERT INTO "usage_meter" ("interval_id", "position", "sku", "label", "unit", "quantity", "rate_micro")
SELECT u.id, 0,
  CASE WHEN u.usage = 'disk' THEN 'disk.container'
    WHEN n.spec ->> 'name' = u.gpu_spec_name THEN 'compute.' || n.gpu_spec_id ELSE 'compute' END,
  CASE WHEN u.usage = 'disk' THEN coalesce(n.container_disk_gb || ' GB', '') ELSE u.gpu_spec_name END,
  CASE WHEN u.usage = 'disk' THEN 'gb_hour' ELSE 'hour' END, 1, u.rate_micro
FROM "usage_interval" u LEFT JOIN "instance" n ON n.id = u.subject_id;--> statement-breakpoint
ALTER TABLE "usage_interval" DROP COLUMN "posted_micro";--> statement-breakpoint
ALTER TABLE "usage_interval" ADD COLUMN "posted_micro" bigint GENERATED ALWAYS AS (credits_micro + cash_micro) STORED NOT NULL;--> statement-breakpoint
ALTER TABLE "usage_day" ADD CONSTRAINT "usage_day_interval_id_usage_interval_id_fk" FOREIGN KEY ("interval_id") REFERENCES "public"."usage_interval"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "usage_meter" ADD CONSTRAINT "usage_meter_interval_id_usage_interval_id_fk" FOREIGN KEY ("interval_id") REFERENCES "public"."usage_interval"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "usage_day_user" ON "usage_day" USING btree ("user_id","day");--> statement-breakpoint
CREATE INDEX "usage_interval_subject" ON "usage_interval" USING btree ("subject_kind","subject_id");--> statement-breakpoint
CREATE UNIQUE INDEX "usage_interval_open" ON "usage_interval" USING btree ("subject_kind","subject_id") WHERE "usage_interval"."ended_at" is null;--> statement-breakpoint
CREATE INDEX "usage_interval_user" ON "usage_interval" USING btree ("user_id","started_at","id");--> statement-breakpoint
CREATE UNIQUE INDEX "wallet_hold_open" ON "wallet_hold" USING btree ("subject_kind","subject_id") WHERE "wallet_hold"."released_at" is null;--> statement-breakpoint
ALTER TABLE "usage_interval" DROP COLUMN "usage";--> statement-breakpoint
ALTER TABLE "usage_interval" DROP COLUMN "gpu_spec_name";--> statement-breakpoint
ALTER TABLE "usage_interval" DROP COLUMN "gpu_count";--> statement-breakpoint
ALTER TABLE "usage_interval" DROP COLUMN "posted_at";--> statement-breakpoint
ALTER TABLE "usage_interval" ADD CONSTRAINT "usage_interval_ends" CHECK ("usage_interval"."charge" = 'by_time' or "usage_interval"."ended_at" is not null);--> statement-breakpoint
ALTER TABLE "usage_interval" ADD CONSTRAINT "usage_interval_amounts" CHECK ("usage_interval"."credits_micro" >= 0 and "usage_interval"."cash_micro" >= 0 and "usage_interval"."waived_micro" >= 0
        and "usage_interval"."rate_micro" >= 0 and "usage_interval"."rate_seconds" > 0);