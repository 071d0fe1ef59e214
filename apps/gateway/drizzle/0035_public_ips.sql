CREATE TABLE "public_ip" (
	"address" text PRIMARY KEY NOT NULL,
	"listen" text NOT NULL,
	"region_code" text NOT NULL,
	"offered" boolean NOT NULL,
	"id" uuid,
	"instance_id" text,
	"user_id" uuid,
	"micro_per_hour" bigint,
	"bound_at" timestamp (3) with time zone,
	"costs_from" timestamp (3) with time zone,
	"freed_at" timestamp (3) with time zone,
	"served_by" text,
	"served_until" timestamp (3) with time zone,
	"troubles" jsonb DEFAULT '{}'::jsonb NOT NULL,
	CONSTRAINT "public_ip_bound" CHECK (("public_ip"."id" is null) = ("public_ip"."instance_id" is null) and ("public_ip"."id" is null) = ("public_ip"."user_id" is null)
        and ("public_ip"."id" is null) = ("public_ip"."micro_per_hour" is null) and ("public_ip"."id" is null) = ("public_ip"."bound_at" is null)
        and ("public_ip"."id" is not null or "public_ip"."costs_from" is null))
);
--> statement-breakpoint
CREATE UNIQUE INDEX "public_ip_id" ON "public_ip" USING btree ("id");--> statement-breakpoint
CREATE UNIQUE INDEX "public_ip_instance" ON "public_ip" USING btree ("instance_id");--> statement-breakpoint
CREATE INDEX "public_ip_region" ON "public_ip" USING btree ("region_code");--> statement-breakpoint
-- Whoever follows instances is told when one gets an address of its own, when that begins to cost, and when it is gone.
CREATE FUNCTION public_ip_tell_seen() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.instance_id IS NOT NULL THEN
    PERFORM pg_notify('instance_seen', OLD.user_id || ' ' || OLD.instance_id);
  END IF;
  IF NEW.instance_id IS DISTINCT FROM OLD.instance_id AND NEW.instance_id IS NOT NULL THEN
    PERFORM pg_notify('instance_seen', NEW.user_id || ' ' || NEW.instance_id);
  END IF;
  RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE TRIGGER public_ip_seen_changed AFTER UPDATE ON public_ip
  FOR EACH ROW
  WHEN (
    OLD.id IS DISTINCT FROM NEW.id
    OR OLD.costs_from IS DISTINCT FROM NEW.costs_from
    OR OLD.address IS DISTINCT FROM NEW.address
    OR OLD.micro_per_hour IS DISTINCT FROM NEW.micro_per_hour
  )
  EXECUTE FUNCTION public_ip_tell_seen();
