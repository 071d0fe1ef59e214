CREATE TABLE "stock" (
	"region_code" text NOT NULL,
	"gpu_spec_id" text NOT NULL,
	"total" integer NOT NULL,
	"taken" integer DEFAULT 0 NOT NULL,
	CONSTRAINT "stock_region_code_gpu_spec_id_pk" PRIMARY KEY("region_code","gpu_spec_id"),
	CONSTRAINT "stock_taken" CHECK ("stock"."taken" >= 0)
);
--> statement-breakpoint
CREATE TABLE "stock_claim" (
	"subject_id" text PRIMARY KEY NOT NULL,
	"region_code" text NOT NULL,
	"gpu_spec_id" text NOT NULL,
	"count" integer NOT NULL,
	"gpu_uuids" jsonb NOT NULL,
	"taken_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "stock_claim_count" CHECK ("stock_claim"."count" > 0)
);
--> statement-breakpoint
-- What instances hold today becomes claims: all that counts, and real GPUs whose machine was not seen to end.
INSERT INTO "stock_claim" ("subject_id", "region_code", "gpu_spec_id", "count", "gpu_uuids", "taken_at")
SELECT "id", "region_code", "gpu_spec_id", "gpu_count", "gpu_uuids", "status_since" FROM "instance"
WHERE "terminated_at" IS NULL AND ("holds_gpus" OR jsonb_array_length("gpu_uuids") > 0);
--> statement-breakpoint
INSERT INTO "stock" ("region_code", "gpu_spec_id", "total", "taken")
SELECT "region_code", "gpu_spec_id", max("total"), sum("count") FROM (
	SELECT "region_code", "gpu_spec_id", "total", 0 AS "count" FROM "gpu_stock"
	UNION ALL
	SELECT "region_code", "gpu_spec_id", 0, "count" FROM "stock_claim"
) AS "carried" GROUP BY "region_code", "gpu_spec_id";
--> statement-breakpoint
DROP TABLE "gpu_stock" CASCADE;--> statement-breakpoint
CREATE INDEX "stock_claim_of" ON "stock_claim" USING btree ("region_code","gpu_spec_id");--> statement-breakpoint
ALTER TABLE "instance" DROP COLUMN "holds_gpus";