CREATE TABLE "model_call_body" (
	"call_id" uuid PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"made_at" timestamp (3) with time zone NOT NULL,
	"box" "bytea" NOT NULL,
	"key_id" text NOT NULL,
	"bytes" integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE "model_day" (
	"model_id" text NOT NULL,
	"day" date NOT NULL,
	"calls" integer NOT NULL,
	"answered" integer NOT NULL,
	"measured_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "model_day_model_id_day_pk" PRIMARY KEY("model_id","day"),
	CONSTRAINT "model_day_counts" CHECK ("model_day"."answered" between 0 and "model_day"."calls")
);
--> statement-breakpoint
CREATE TABLE "model_keeping" (
	"user_id" uuid PRIMARY KEY NOT NULL,
	"days" smallint NOT NULL,
	"bytes" integer DEFAULT 0 NOT NULL,
	CONSTRAINT "model_keeping_bounds" CHECK ("model_keeping"."days" between 1 and 90 and "model_keeping"."bytes" >= 0)
);
--> statement-breakpoint
ALTER TABLE "api_key" DROP CONSTRAINT "api_key_limits";--> statement-breakpoint
ALTER TABLE "api_key" ADD COLUMN "tokens_per_minute" integer;--> statement-breakpoint
ALTER TABLE "model_call" ADD COLUMN "gateway_id" uuid;--> statement-breakpoint
ALTER TABLE "model_call" ADD COLUMN "estimated" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "model_call_body" ADD CONSTRAINT "model_call_body_user_id_model_keeping_user_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."model_keeping"("user_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "model_call_body_user" ON "model_call_body" USING btree ("user_id","made_at");--> statement-breakpoint
ALTER TABLE "api_key" ADD CONSTRAINT "api_key_limits" CHECK (("api_key"."spend_limit_cents" is null) = ("api_key"."spend_period" is null)
        and ("api_key"."spend_limit_cents" is null or "api_key"."spend_limit_cents" >= 0)
        and ("api_key"."requests_per_minute" is null or "api_key"."requests_per_minute" > 0)
        and ("api_key"."tokens_per_minute" is null or "api_key"."tokens_per_minute" > 0)
        and ("api_key"."models" is null or cardinality("api_key"."models") > 0));