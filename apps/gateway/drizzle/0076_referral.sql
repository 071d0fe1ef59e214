CREATE TABLE "card_seen" (
	"user_id" uuid NOT NULL,
	"card_hash" text NOT NULL,
	"seen_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "card_seen_user_id_card_hash_pk" PRIMARY KEY("user_id","card_hash")
);
--> statement-breakpoint
CREATE TABLE "account_device" (
	"user_id" uuid NOT NULL,
	"mark_hash" text NOT NULL,
	"seen_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "account_device_user_id_mark_hash_pk" PRIMARY KEY("user_id","mark_hash")
);
--> statement-breakpoint
CREATE TABLE "paypal_account" (
	"user_id" uuid PRIMARY KEY NOT NULL,
	"email" text NOT NULL,
	"confirmed_at" timestamp (3) with time zone,
	"token_hash" text,
	"token_until" timestamp (3) with time zone,
	"mailed_at" timestamp (3) with time zone NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "referral" (
	"id" uuid PRIMARY KEY NOT NULL,
	"friend_id" uuid NOT NULL,
	"referrer_id" uuid NOT NULL,
	"masked_email" text,
	"registered_at" timestamp (3) with time zone NOT NULL,
	"currency" text NOT NULL,
	"state" text NOT NULL,
	"reason" text,
	"same_person_by" text,
	"same_person_at" timestamp (3) with time zone,
	"first_paid_at" timestamp (3) with time zone,
	"first_paid_micro" bigint,
	"paid_micro" bigint DEFAULT 0 NOT NULL,
	"reached_at" timestamp (3) with time zone,
	"friend_grant_id" uuid,
	"friend_grant_ended_at" timestamp (3) with time zone,
	"cash_seen_micro" bigint DEFAULT 0 NOT NULL,
	"rebate_parts" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "referral_sides" CHECK ("referral"."friend_id" <> "referral"."referrer_id"),
	CONSTRAINT "referral_reason" CHECK (("referral"."state" = 'invalid') = ("referral"."reason" is not null))
);
--> statement-breakpoint
CREATE TABLE "referral_code" (
	"user_id" uuid PRIMARY KEY NOT NULL,
	"code" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "referral_payout" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"quarter" text NOT NULL,
	"email" text NOT NULL,
	"cents" integer NOT NULL,
	"fee_micro" bigint NOT NULL,
	"currency" text NOT NULL,
	"driver" text NOT NULL,
	"state" text NOT NULL,
	"batch_id" text,
	"failure" text,
	"reference" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	"sent_at" timestamp (3) with time zone,
	"finished_at" timestamp (3) with time zone,
	"look_at" timestamp (3) with time zone,
	CONSTRAINT "referral_payout_cents" CHECK ("referral_payout"."cents" > 0),
	CONSTRAINT "referral_payout_finished" CHECK (("referral_payout"."state" in ('paid', 'failed')) = ("referral_payout"."finished_at" is not null))
);
--> statement-breakpoint
CREATE TABLE "referral_reward" (
	"id" uuid PRIMARY KEY NOT NULL,
	"referral_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"day" date NOT NULL,
	"quarter" text NOT NULL,
	"order_at" timestamp (3) with time zone NOT NULL,
	"order_micro" bigint NOT NULL,
	"cash_micro" bigint NOT NULL,
	"rate_hundredths" integer,
	"amount_micro" bigint NOT NULL,
	"entries" integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE "referral_settlement" (
	"user_id" uuid NOT NULL,
	"quarter" text NOT NULL,
	"currency" text NOT NULL,
	"state" text NOT NULL,
	"reward_type" text,
	"chosen_at" timestamp (3) with time zone,
	"closed_at" timestamp (3) with time zone,
	"carried_in_micro" bigint DEFAULT 0 NOT NULL,
	"amount_micro" bigint DEFAULT 0 NOT NULL,
	"choose_until" timestamp (3) with time zone,
	"reminded_at" timestamp (3) with time zone,
	"payout_at" timestamp (3) with time zone,
	"net_micro" bigint DEFAULT 0 NOT NULL,
	"fee_micro" bigint DEFAULT 0 NOT NULL,
	"rest_micro" bigint DEFAULT 0 NOT NULL,
	"carried_to" text,
	"grant_id" uuid,
	"paypal_email" text,
	"paid_at" timestamp (3) with time zone,
	"failure" text,
	CONSTRAINT "referral_settlement_user_id_quarter_pk" PRIMARY KEY("user_id","quarter"),
	CONSTRAINT "referral_settlement_closed" CHECK (("referral_settlement"."state" = 'open') = ("referral_settlement"."closed_at" is null)),
	CONSTRAINT "referral_settlement_sums" CHECK ("referral_settlement"."net_micro" >= 0 and "referral_settlement"."fee_micro" >= 0 and ("referral_settlement"."state" = 'open'
        or "referral_settlement"."state" in ('choosing', 'failed', 'to_be_paid')
        or "referral_settlement"."amount_micro" = "referral_settlement"."net_micro" + "referral_settlement"."fee_micro" + "referral_settlement"."rest_micro"))
);
--> statement-breakpoint
ALTER TABLE "account_device" ADD CONSTRAINT "account_device_user_id_user_account_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."user_account"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "referral_reward" ADD CONSTRAINT "referral_reward_referral_id_referral_id_fk" FOREIGN KEY ("referral_id") REFERENCES "public"."referral"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "account_device_seen" ON "account_device" USING btree ("user_id","seen_at");--> statement-breakpoint
CREATE INDEX "paypal_account_email" ON "paypal_account" USING btree ("email");--> statement-breakpoint
CREATE UNIQUE INDEX "referral_friend" ON "referral" USING btree ("friend_id");--> statement-breakpoint
CREATE INDEX "referral_referrer" ON "referral" USING btree ("referrer_id","registered_at","id");--> statement-breakpoint
CREATE INDEX "referral_counting" ON "referral" USING btree ("id") WHERE "referral"."state" = 'recharged';--> statement-breakpoint
CREATE INDEX "referral_same_person" ON "referral" USING btree ("same_person_at") WHERE "referral"."same_person_by" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "referral_code_code" ON "referral_code" USING btree ("code");--> statement-breakpoint
CREATE UNIQUE INDEX "referral_payout_once" ON "referral_payout" USING btree ("user_id","quarter") WHERE "referral_payout"."state" <> 'failed';--> statement-breakpoint
CREATE INDEX "referral_payout_due" ON "referral_payout" USING btree ("look_at") WHERE "referral_payout"."look_at" is not null;--> statement-breakpoint
CREATE INDEX "referral_payout_created" ON "referral_payout" USING btree ("created_at","id");--> statement-breakpoint
CREATE UNIQUE INDEX "referral_reward_of" ON "referral_reward" USING btree ("referral_id","kind","day","quarter");--> statement-breakpoint
CREATE INDEX "referral_reward_user" ON "referral_reward" USING btree ("user_id","order_at","id");--> statement-breakpoint
CREATE INDEX "referral_reward_quarter" ON "referral_reward" USING btree ("user_id","quarter");--> statement-breakpoint
CREATE INDEX "referral_settlement_open" ON "referral_settlement" USING btree ("choose_until") WHERE "referral_settlement"."state" in ('choosing', 'failed', 'to_be_paid');