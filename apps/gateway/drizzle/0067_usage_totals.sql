CREATE TABLE "usage_total" (
	"user_id" uuid NOT NULL,
	"day" date NOT NULL,
	"usage" text NOT NULL,
	"cash_micro" bigint NOT NULL,
	"credits_micro" bigint NOT NULL,
	"waived_micro" bigint NOT NULL,
	CONSTRAINT "usage_total_user_id_day_usage_pk" PRIMARY KEY("user_id","day","usage")
);
--> statement-breakpoint
-- As on usage_day: the rows of today are written again with each posting.
ALTER TABLE usage_total SET (fillfactor = 90);--> statement-breakpoint
-- What usage is of, as meters/usage-kinds.ts says it; the audit of the books compares the two.
CREATE FUNCTION usage_kind(subject_kind text, sku text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE subject_kind WHEN 'network_volume' THEN 'volume' WHEN 'volume_snapshot' THEN 'snapshot'
    WHEN 'image' THEN 'image' WHEN 'public_ip' THEN 'public_ip' WHEN 'model_call' THEN 'model'
    ELSE CASE WHEN starts_with(coalesce(sku, ''), 'disk.') THEN 'disk'
      WHEN starts_with(coalesce(sku, ''), 'traffic.') THEN 'traffic' ELSE 'compute' END END
$$;--> statement-breakpoint
-- What is added to days of stretches is added to the day's totals, what is given back taken off. The stretch and its main
-- meter are found by their keys, whatever the number of rows that the plan was made for.
CREATE FUNCTION usage_total_add() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO usage_total AS t (user_id, day, usage, cash_micro, credits_micro, waived_micro)
  SELECT moved.user_id, moved.day, usage_kind(i.subject_kind, m.sku), sum(moved.cash), sum(moved.credits), sum(moved.waived)
  FROM (
    SELECT user_id, day, interval_id,
      coalesce(sum(micro) FILTER (WHERE part = 'cash'), 0) AS cash,
      coalesce(sum(micro) FILTER (WHERE part = 'credits'), 0) AS credits,
      coalesce(sum(micro) FILTER (WHERE part = 'write_off'), 0) AS waived
    FROM (SELECT *, CASE WHEN back THEN -amount_micro ELSE amount_micro END AS micro FROM added) signed
    GROUP BY user_id, day, interval_id
  ) moved
  JOIN LATERAL (SELECT subject_kind FROM usage_interval WHERE id = moved.interval_id OFFSET 0) i ON true
  LEFT JOIN LATERAL (
    SELECT sku FROM usage_meter WHERE interval_id = moved.interval_id AND position = 0 OFFSET 0
  ) m ON true
  GROUP BY 1, 2, 3
  ON CONFLICT (user_id, day, usage) DO UPDATE SET cash_micro = t.cash_micro + excluded.cash_micro,
    credits_micro = t.credits_micro + excluded.credits_micro, waived_micro = t.waived_micro + excluded.waived_micro;
  RETURN NULL;
END
$$;--> statement-breakpoint
-- The same of rows that have changed: what they are now, less what they were.
CREATE FUNCTION usage_total_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO usage_total AS t (user_id, day, usage, cash_micro, credits_micro, waived_micro)
  SELECT moved.user_id, moved.day, usage_kind(i.subject_kind, m.sku), sum(moved.cash), sum(moved.credits), sum(moved.waived)
  FROM (
    SELECT user_id, day, interval_id,
      coalesce(sum(micro) FILTER (WHERE part = 'cash'), 0) AS cash,
      coalesce(sum(micro) FILTER (WHERE part = 'credits'), 0) AS credits,
      coalesce(sum(micro) FILTER (WHERE part = 'write_off'), 0) AS waived
    FROM (
      SELECT *, CASE WHEN back THEN -amount_micro ELSE amount_micro END AS micro FROM added
      UNION ALL SELECT *, CASE WHEN back THEN amount_micro ELSE -amount_micro END FROM removed
    ) signed
    GROUP BY user_id, day, interval_id
  ) moved
  JOIN LATERAL (SELECT subject_kind FROM usage_interval WHERE id = moved.interval_id OFFSET 0) i ON true
  LEFT JOIN LATERAL (
    SELECT sku FROM usage_meter WHERE interval_id = moved.interval_id AND position = 0 OFFSET 0
  ) m ON true
  GROUP BY 1, 2, 3
  ON CONFLICT (user_id, day, usage) DO UPDATE SET cash_micro = t.cash_micro + excluded.cash_micro,
    credits_micro = t.credits_micro + excluded.credits_micro, waived_micro = t.waived_micro + excluded.waived_micro;
  RETURN NULL;
END
$$;--> statement-breakpoint
-- Days of stretches are never removed.
CREATE TRIGGER usage_total_added AFTER INSERT ON usage_day REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION usage_total_add();--> statement-breakpoint
CREATE TRIGGER usage_total_changed AFTER UPDATE ON usage_day REFERENCING OLD TABLE AS removed NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION usage_total_change();--> statement-breakpoint
-- What is there already. Nobody has written beside this since the triggers stand: they lock the table for it.
INSERT INTO usage_total (user_id, day, usage, cash_micro, credits_micro, waived_micro)
SELECT d.user_id, d.day, usage_kind(i.subject_kind, m.sku),
  coalesce(sum(d.micro) FILTER (WHERE d.part = 'cash'), 0),
  coalesce(sum(d.micro) FILTER (WHERE d.part = 'credits'), 0),
  coalesce(sum(d.micro) FILTER (WHERE d.part = 'write_off'), 0)
FROM (SELECT *, CASE WHEN back THEN -amount_micro ELSE amount_micro END AS micro FROM usage_day) d
  JOIN usage_interval i ON i.id = d.interval_id
  LEFT JOIN usage_meter m ON m.interval_id = d.interval_id AND m.position = 0
GROUP BY 1, 2, 3;
