ALTER TABLE "volume" ADD COLUMN "used_bytes" bigint;--> statement-breakpoint
ALTER TABLE "volume" ADD COLUMN "measured_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "volume" ADD COLUMN "measure_trouble" text;--> statement-breakpoint
ALTER TABLE "volume" ADD COLUMN "measure_due_at" timestamp (3) with time zone DEFAULT now() NOT NULL;--> statement-breakpoint
ALTER TABLE "volume" ADD COLUMN "near_full_since" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "volume" ADD COLUMN "over_since" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "volume" ADD COLUMN "read_only_since" timestamp (3) with time zone;