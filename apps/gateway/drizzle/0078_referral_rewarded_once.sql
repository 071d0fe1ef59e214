CREATE TABLE "referral_rewarded_mark" (
	"kind" text NOT NULL,
	"hash" text NOT NULL,
	"user_id" uuid NOT NULL,
	CONSTRAINT "referral_rewarded_mark_kind_hash_pk" PRIMARY KEY("kind","hash")
);
--> statement-breakpoint
ALTER TABLE "referral" ADD COLUMN "same_person_as" uuid;--> statement-breakpoint
CREATE INDEX "referral_rewarded_mark_user" ON "referral_rewarded_mark" USING btree ("user_id");--> statement-breakpoint
UPDATE "referral" SET "same_person_as" = "referrer_id" WHERE "same_person_by" IS NOT NULL;--> statement-breakpoint
-- Who was rewarded before this was kept, in the order in which they were.
INSERT INTO "referral_rewarded_mark" ("kind", "hash", "user_id")
SELECT m.kind, m.hash, r.user_id FROM (
  SELECT "friend_id" AS user_id, "reached_at" FROM "referral" WHERE "reached_at" IS NOT NULL
  UNION ALL
  SELECT "referrer_id", "reached_at" FROM "referral" WHERE "reached_at" IS NOT NULL
) r
JOIN (
  SELECT 'card' AS kind, "card_hash" AS hash, "user_id" FROM "card_seen"
  UNION ALL SELECT 'device', "mark_hash", "user_id" FROM "account_device"
  UNION ALL SELECT 'paypal', encode(sha256(convert_to("email", 'UTF8')), 'hex'), "user_id" FROM "paypal_account"
) m ON m.user_id = r.user_id
ORDER BY r.reached_at
ON CONFLICT DO NOTHING;
