CREATE TABLE "model_call" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"key_id" uuid,
	"model_id" text NOT NULL,
	"streamed" boolean NOT NULL,
	"status" text NOT NULL,
	"started_at" timestamp (3) with time zone NOT NULL,
	"ended_at" timestamp (3) with time zone,
	"first_byte_ms" integer,
	"input_tokens" integer DEFAULT 0 NOT NULL,
	"cached_tokens" integer DEFAULT 0 NOT NULL,
	"output_tokens" integer DEFAULT 0 NOT NULL,
	"cost_micro" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "model_call_tokens" CHECK ("model_call"."input_tokens" >= 0 and "model_call"."output_tokens" >= 0
        and "model_call"."cached_tokens" between 0 and "model_call"."input_tokens" and "model_call"."cost_micro" >= 0),
	CONSTRAINT "model_call_ends" CHECK (("model_call"."ended_at" is null) = ("model_call"."status" = 'running'))
);
--> statement-breakpoint
ALTER TABLE "wallet_hold" DROP CONSTRAINT "wallet_hold_amount";--> statement-breakpoint
ALTER TABLE "wallet_hold" ADD COLUMN "free_micro" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "model_call_user" ON "model_call" USING btree ("user_id","started_at","id");--> statement-breakpoint
CREATE INDEX "model_call_running" ON "model_call" USING btree ("started_at") WHERE "model_call"."status" = 'running';--> statement-breakpoint
ALTER TABLE "wallet_hold" ADD CONSTRAINT "wallet_hold_amount" CHECK ("wallet_hold"."amount_micro" >= 0 and "wallet_hold"."free_micro" >= 0 and "wallet_hold"."used_micro" between 0 and "wallet_hold"."amount_micro");