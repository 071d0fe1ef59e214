CREATE TABLE "model_allowance" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"gateway_id" uuid NOT NULL,
	"taken_at" timestamp (3) with time zone NOT NULL,
	"amount_micro" bigint NOT NULL,
	"used_micro" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "model_allowance_amounts" CHECK ("model_allowance"."used_micro" between 0 and "model_allowance"."amount_micro")
);
--> statement-breakpoint
CREATE INDEX "model_allowance_user" ON "model_allowance" USING btree ("user_id");--> statement-breakpoint
-- What gateways believe of who calls models is told to them when it changes, whoever changes it.
CREATE FUNCTION model_caller_notify() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  changed jsonb := to_jsonb(coalesce(NEW, OLD));
BEGIN
  PERFORM pg_notify('model_caller', coalesce(changed ->> 'user_id', changed ->> 'id'));
  RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE TRIGGER api_key_tell AFTER DELETE OR UPDATE OF expires_at, revoked_at, models, requests_per_minute, tokens_per_minute ON api_key
  FOR EACH ROW EXECUTE FUNCTION model_caller_notify();
--> statement-breakpoint
CREATE TRIGGER budget_tell AFTER INSERT OR UPDATE OR DELETE ON budget
  FOR EACH ROW EXECUTE FUNCTION model_caller_notify();
--> statement-breakpoint
CREATE TRIGGER customer_tell AFTER DELETE OR UPDATE OF suspended_at, closed_at ON customer
  FOR EACH ROW EXECUTE FUNCTION model_caller_notify();
