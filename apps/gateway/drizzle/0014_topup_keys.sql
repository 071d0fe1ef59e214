-- What top-ups have done stays known to those that are sent again: of the last day, and for a day where one is open.
INSERT INTO "idempotency" ("user_id", "operation", "key", "body_hash", "state", "lease_until", "result", "created_at")
SELECT "user_id"::text, 'bill.topup', "idempotency_key", '', 'running', now(), "id"::text, now()
FROM "payment_intent"
WHERE "state" IN ('created', 'requires_action', 'processing') OR "created_at" > now() - interval '1 day'
ON CONFLICT ("user_id", "operation", "key") DO UPDATE SET "result" = excluded."result";--> statement-breakpoint
DROP INDEX "payment_intent_key";--> statement-breakpoint
ALTER TABLE "payment_intent" DROP COLUMN "idempotency_key";
