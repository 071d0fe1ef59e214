ALTER TABLE "sample_coarse" DROP COLUMN "disk_read";--> statement-breakpoint
ALTER TABLE "sample_coarse" DROP COLUMN "disk_write";--> statement-breakpoint
ALTER TABLE "sample_fine" DROP COLUMN "disk_read";--> statement-breakpoint
ALTER TABLE "sample_fine" DROP COLUMN "disk_write";