CREATE TABLE "engine" (
	"id" text PRIMARY KEY NOT NULL,
	"driver" text NOT NULL,
	"facts" jsonb,
	"first_seen_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"last_seen_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"paired_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "engine_reach" (
	"engine_id" text NOT NULL,
	"gateway_id" uuid NOT NULL,
	"seen_until" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "engine_reach_engine_id_gateway_id_pk" PRIMARY KEY("engine_id","gateway_id")
);
--> statement-breakpoint
ALTER TABLE "instance" ADD COLUMN "engine_id" text;--> statement-breakpoint
ALTER TABLE "stock_claim" ADD COLUMN "engine_id" text;--> statement-breakpoint
CREATE INDEX "engine_reach_until" ON "engine_reach" USING btree ("seen_until");--> statement-breakpoint
-- A machine was of a driver of an installation; the gateway that opens that engine first gives it its own name.
UPDATE "instance" SET "engine_id" = 'was:' || "driver" || ':' || "installation_id"
WHERE "driver" IS NOT NULL AND "installation_id" IS NOT NULL;
--> statement-breakpoint
UPDATE "stock_claim" SET "engine_id" = "instance"."engine_id" FROM "instance" WHERE "instance"."id" = "subject_id";
--> statement-breakpoint
INSERT INTO "engine" ("id", "driver", "first_seen_at", "last_seen_at", "paired_at")
SELECT 'was:' || "driver" || ':' || "id", "driver", "first_seen_at", "first_seen_at", "first_seen_at" FROM "installation";
--> statement-breakpoint
INSERT INTO "engine" ("id", "driver") SELECT DISTINCT "engine_id", "driver" FROM "instance"
WHERE "engine_id" IS NOT NULL ON CONFLICT DO NOTHING;
--> statement-breakpoint
DROP TABLE "installation" CASCADE;--> statement-breakpoint
ALTER TABLE "instance" DROP COLUMN "driver";--> statement-breakpoint
ALTER TABLE "instance" DROP COLUMN "installation_id";