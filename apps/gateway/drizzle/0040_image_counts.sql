CREATE TABLE "image_count" (
	"image_id" text PRIMARY KEY NOT NULL,
	"stars" integer DEFAULT 0 NOT NULL,
	"deploys" integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "image_deploy_day" (
	"image_id" text NOT NULL,
	"day" date NOT NULL,
	"deploys" integer DEFAULT 0 NOT NULL,
	CONSTRAINT "image_deploy_day_image_id_day_pk" PRIMARY KEY("image_id","day")
);
--> statement-breakpoint
INSERT INTO image_count (image_id, stars, deploys)
  SELECT image_id, sum(stars), sum(deploys) FROM (
    SELECT image_id, 1 AS stars, 0 AS deploys FROM image_star
    UNION ALL SELECT image_id, 0, 1 FROM image_deploy
  ) AS counted GROUP BY image_id;
--> statement-breakpoint
INSERT INTO image_deploy_day (image_id, day, deploys)
  SELECT image_id, day, count(*) FROM image_deploy GROUP BY image_id, day;
--> statement-breakpoint
-- Counted where the rows are, so that no way of making or removing one (an account that goes takes its own along) is
-- forgotten. By id in order, so that two such accounts do not wait for each other.
CREATE FUNCTION image_applause_counted() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  sign integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
  IF TG_TABLE_NAME = 'image_star' THEN
    INSERT INTO image_count AS c (image_id, stars)
      SELECT image_id, sign * count(*) FROM changed GROUP BY image_id ORDER BY image_id
      ON CONFLICT (image_id) DO UPDATE SET stars = c.stars + excluded.stars;
  ELSE
    INSERT INTO image_count AS c (image_id, deploys)
      SELECT image_id, sign * count(*) FROM changed GROUP BY image_id ORDER BY image_id
      ON CONFLICT (image_id) DO UPDATE SET deploys = c.deploys + excluded.deploys;
    INSERT INTO image_deploy_day AS d (image_id, day, deploys)
      SELECT image_id, day, sign * count(*) FROM changed GROUP BY 1, 2 ORDER BY 1, 2
      ON CONFLICT (image_id, day) DO UPDATE SET deploys = d.deploys + excluded.deploys;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER image_star_given AFTER INSERT ON image_star
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION image_applause_counted();
--> statement-breakpoint
CREATE TRIGGER image_star_taken AFTER DELETE ON image_star
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION image_applause_counted();
--> statement-breakpoint
CREATE TRIGGER image_deploy_made AFTER INSERT ON image_deploy
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION image_applause_counted();
--> statement-breakpoint
CREATE TRIGGER image_deploy_forgotten AFTER DELETE ON image_deploy
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION image_applause_counted();
