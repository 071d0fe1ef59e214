CREATE TABLE "payment_event_aside" (
	"platform_name" text NOT NULL,
	"event_id" text NOT NULL,
	"reference" text,
	"told" text NOT NULL,
	"occurred_at" timestamp (3) with time zone NOT NULL,
	"via" text NOT NULL,
	"reason" text NOT NULL,
	"tries" integer NOT NULL,
	"try_at" timestamp (3) with time zone NOT NULL,
	"set_aside_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "payment_event_aside_platform_name_event_id_pk" PRIMARY KEY("platform_name","event_id"),
	CONSTRAINT "payment_event_aside_tries" CHECK ("payment_event_aside"."tries" > 0)
);
--> statement-breakpoint
CREATE INDEX "payment_event_aside_due" ON "payment_event_aside" USING btree ("platform_name","try_at");