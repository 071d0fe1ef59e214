DROP INDEX "usage_day_user";--> statement-breakpoint
CREATE INDEX "usage_day_user" ON "usage_day" USING btree ("user_id","day","interval_id");