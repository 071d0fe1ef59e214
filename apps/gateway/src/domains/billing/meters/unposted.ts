import { type SQL, sql } from 'drizzle-orm'
import { PARTS_PER_MICRO } from './units.ts'

const partsPerMicro = sql.raw(`${PARTS_PER_MICRO}::numeric`)

/**
 * What a stretch has cost, in SQL: the formula of `costOf`, exact for every rate.
 * @param until Where an open stretch is reckoned to.
 */
export function dueSql(until: SQL): SQL {
  return sql`case i.charge when 'once' then i.rate_micro::numeric else
    div(i.carried_parts::numeric * i.rate_seconds
        + floor(greatest(extract(epoch from coalesce(i.ended_at, ${until}) - i.started_at), 0)) * i.rate_micro
          * ${partsPerMicro},
      ${partsPerMicro} * i.rate_seconds) end`
}

/**
 * The open stretches with what each owes beyond what is posted and waived, and with what is set aside for its subject.
 * A clock that stepped back owes nothing.
 * @param now Where they are reckoned to.
 * @param which Columns of `usage_interval i`.
 */
export function unposted(now: SQL, which: SQL): SQL {
  return sql`
    select i.id, i.user_id, i.subject_kind, i.subject_id, i.stops_when_empty, i.rate_micro, i.rate_seconds,
      i.posted_until, greatest(${dueSql(now)} - i.posted_micro - i.waived_micro, 0) as unposted,
      coalesce(h.amount_micro - h.used_micro, 0) as reserve
    from usage_interval i
    left join wallet_hold h on h.subject_kind = i.subject_kind and h.subject_id = i.subject_id
      and h.user_id = i.user_id and h.released_at is null
    where i.ended_at is null and ${which}`
}
