CREATE TABLE "operator_entry" (
	"id" uuid PRIMARY KEY NOT NULL,
	"who" text NOT NULL,
	"command" text NOT NULL,
	"target" text NOT NULL,
	"user_id" uuid,
	"outcome" text NOT NULL,
	"detail" text NOT NULL,
	"at" timestamp (3) with time zone NOT NULL,
	"ended_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "customer" ADD COLUMN "suspended_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "customer" ADD COLUMN "suspended_reason" text;--> statement-breakpoint
CREATE INDEX "operator_entry_user" ON "operator_entry" USING btree ("user_id","id");--> statement-breakpoint
CREATE INDEX "operator_entry_at" ON "operator_entry" USING btree ("at");--> statement-breakpoint
-- What operators did is written before it is done, gets its end once, and is deleted only when it is old enough.
CREATE FUNCTION operator_entry_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF tg_op = 'DELETE' AND tg_level = 'ROW' THEN
    IF OLD.at < now() - interval '365 days' THEN
      RETURN OLD;
    END IF;
  ELSIF tg_op = 'UPDATE' THEN
    IF OLD.outcome = 'begun'
      AND (NEW.id, NEW.who, NEW.command, NEW.target, NEW.user_id, NEW.at)
        IS NOT DISTINCT FROM (OLD.id, OLD.who, OLD.command, OLD.target, OLD.user_id, OLD.at) THEN
      RETURN NEW;
    END IF;
  END IF;
  RAISE EXCEPTION 'the log of operators is append-only: % of % is refused', tg_op, tg_table_name
    USING ERRCODE = 'restrict_violation';
END
$$;
--> statement-breakpoint
CREATE TRIGGER operator_entry_append_only BEFORE UPDATE OR DELETE ON operator_entry
  FOR EACH ROW EXECUTE FUNCTION operator_entry_refuse_change();
--> statement-breakpoint
CREATE TRIGGER operator_entry_keep_all BEFORE TRUNCATE ON operator_entry
  FOR EACH STATEMENT EXECUTE FUNCTION operator_entry_refuse_change();
