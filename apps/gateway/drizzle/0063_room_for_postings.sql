-- A stretch that runs and its day are written again each hour. With room on the page the new row stays beside the old one, and
-- none of the indexes is touched; what an earlier hour left there is cleared by the next. It holds for pages from now on.
ALTER TABLE usage_interval SET (fillfactor = 90);--> statement-breakpoint
ALTER TABLE usage_day SET (fillfactor = 90);
