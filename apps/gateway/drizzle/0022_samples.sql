CREATE TABLE "sample_coarse" (
	"instance_id" text NOT NULL,
	"step" smallint NOT NULL,
	"at" timestamp (3) with time zone NOT NULL,
	"cpu" real,
	"memory_mb" real,
	"disk_mb" real,
	"disk_read" real,
	"disk_write" real,
	"network_in" real,
	"network_out" real,
	"gpu_load" real[],
	"gpu_memory_mb" real[],
	CONSTRAINT "sample_coarse_instance_id_step_at_pk" PRIMARY KEY("instance_id","step","at")
);
--> statement-breakpoint
CREATE UNLOGGED TABLE "sample_fine" (
	"instance_id" text NOT NULL,
	"step" smallint NOT NULL,
	"at" timestamp (3) with time zone NOT NULL,
	"cpu" real,
	"memory_mb" real,
	"disk_mb" real,
	"disk_read" real,
	"disk_write" real,
	"network_in" real,
	"network_out" real,
	"gpu_load" real[],
	"gpu_memory_mb" real[],
	CONSTRAINT "sample_fine_instance_id_step_at_pk" PRIMARY KEY("instance_id","step","at")
);
--> statement-breakpoint
CREATE INDEX "sample_coarse_at" ON "sample_coarse" USING btree ("step","at");--> statement-breakpoint
CREATE INDEX "sample_fine_at" ON "sample_fine" USING btree ("step","at");