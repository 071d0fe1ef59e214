CREATE TABLE "api_key_day" (
	"key_id" uuid NOT NULL,
	"day" date NOT NULL,
	"spent_micro" bigint DEFAULT 0 NOT NULL,
	"held_micro" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "api_key_day_key_id_day_pk" PRIMARY KEY("key_id","day"),
	CONSTRAINT "api_key_day_amounts" CHECK ("api_key_day"."spent_micro" >= 0 and "api_key_day"."held_micro" >= 0)
);
--> statement-breakpoint
CREATE TABLE "model_figure" (
	"model_id" text PRIMARY KEY NOT NULL,
	"first_token_ms" integer,
	"tenth_tokens_per_second" integer,
	"answered_permille" integer,
	"calls" integer NOT NULL,
	"measured_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "api_key" ADD COLUMN "models" text[];--> statement-breakpoint
ALTER TABLE "api_key" ADD COLUMN "spend_limit_cents" integer;--> statement-breakpoint
ALTER TABLE "api_key" ADD COLUMN "spend_period" text;--> statement-breakpoint
ALTER TABLE "api_key" ADD COLUMN "requests_per_minute" integer;--> statement-breakpoint
ALTER TABLE "model_call" ADD COLUMN "most_micro" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "model_call" ADD COLUMN "error_code" text;--> statement-breakpoint
ALTER TABLE "model_call" ADD COLUMN "once_key" text;--> statement-breakpoint
ALTER TABLE "model_call" ADD COLUMN "once_body" text;--> statement-breakpoint
ALTER TABLE "api_key_day" ADD CONSTRAINT "api_key_day_key_id_api_key_id_fk" FOREIGN KEY ("key_id") REFERENCES "public"."api_key"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "model_call_model" ON "model_call" USING btree ("model_id","started_at");--> statement-breakpoint
CREATE UNIQUE INDEX "model_call_once" ON "model_call" USING btree ("user_id","once_key") WHERE "model_call"."once_key" is not null;--> statement-breakpoint
ALTER TABLE "api_key" ADD CONSTRAINT "api_key_limits" CHECK (("api_key"."spend_limit_cents" is null) = ("api_key"."spend_period" is null)
        and ("api_key"."spend_limit_cents" is null or "api_key"."spend_limit_cents" >= 0)
        and ("api_key"."requests_per_minute" is null or "api_key"."requests_per_minute" > 0)
        and ("api_key"."models" is null or cardinality("api_key"."models") > 0));--> statement-breakpoint
ALTER TABLE "model_call" ADD CONSTRAINT "model_call_error" CHECK ("model_call"."error_code" is null or "model_call"."status" = 'failed');--> statement-breakpoint
ALTER TABLE "model_call" ADD CONSTRAINT "model_call_once_pair" CHECK (("model_call"."once_key" is null) = ("model_call"."once_body" is null));--> statement-breakpoint
-- What keys have cost already counts towards a limit that is set today.
INSERT INTO "api_key_day" ("key_id", "day", "spent_micro")
SELECT c."key_id", (c."started_at" AT TIME ZONE 'UTC')::date, sum(c."cost_micro")
FROM "model_call" c JOIN "api_key" k ON k."id" = c."key_id"
GROUP BY 1, 2;
