ALTER TABLE "model_call" ADD COLUMN "images" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "model_call" ADD COLUMN "video_seconds" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "model_call" ADD COLUMN "free" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX "model_call_free" ON "model_call" USING btree ("user_id","model_id","started_at") WHERE "model_call"."free";--> statement-breakpoint
ALTER TABLE "model_call" ADD CONSTRAINT "model_call_media" CHECK ("model_call"."images" >= 0 and "model_call"."video_seconds" >= 0);