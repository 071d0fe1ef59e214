DROP INDEX "instance_key";--> statement-breakpoint
ALTER TABLE "idempotency" ADD COLUMN "result" text;--> statement-breakpoint
-- What deploys and starts have done stays known to those that are sent again.
UPDATE "idempotency" SET "result" = "instance"."id" FROM "instance"
WHERE "idempotency"."user_id" = "instance"."user_id"::text AND (
	("operation" = 'instance.deploy' AND "key" = "instance"."idempotency_key")
	OR ("operation" = 'instance.start' AND "key" = "instance"."start_key")
);--> statement-breakpoint
ALTER TABLE "instance" DROP COLUMN "idempotency_key";--> statement-breakpoint
ALTER TABLE "instance" DROP COLUMN "start_key";
