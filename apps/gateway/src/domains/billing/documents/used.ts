import { type SQL, sql } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import { foreseePostings } from '../meters/booking.ts'
import { selectOpen } from '../meters/posting.ts'
import { readPurse } from '../meters/purse.ts'
import type { usageDay } from '../meters/tables.ts'
import { usageKindSql } from '../meters/usage-kinds.ts'

/** What posting all that is due now would add to one day of one stretch. */
interface UnpostedDay {
  interval_id: string
  day: string
  part: (typeof usageDay.$inferSelect)['part']
  /** Micro-units as text. */
  micro: string
}

/** What is read for a document: one moment of the books, and what is due by then as if it were posted. */
export interface Snapshot {
  tx: Transaction
  userId: string
  now: Date
  unposted: UnpostedDay[]
}

/** UTC days, the last one not among them: `2026-11-01`. */
export interface Days {
  from: string
  until: string
}

/**
 * Reads a document of a customer's usage in one snapshot, so that a posting beside it is counted once, and with what is
 * due and not posted, split as posting it would: nothing that is read jumps when it is posted.
 */
export async function inSnapshot<Document>(
  { db, clock }: { db: Database; clock: Clock },
  userId: string,
  read: (snapshot: Snapshot) => Promise<Document>,
): Promise<Document> {
  return await db.transaction(
    async tx => {
      const now = clock.now()
      return await read({ tx, userId, now, unposted: await readUnposted(tx, userId, now) })
    },
    { isolationLevel: 'repeatable read', accessMode: 'read only' },
  )
}

/** By the order in which open stretches are posted. One that has cost nothing yet is there with nothing. */
async function readUnposted(tx: Transaction, userId: string, now: Date): Promise<UnpostedDay[]> {
  const open = await selectOpen(tx, [userId])
  if (open.length === 0) return []
  const postings = foreseePostings(await readPurse(tx, userId), open, now)
  return open.flatMap(interval => {
    const row = (at: Date, part: UnpostedDay['part'], micro: bigint): UnpostedDay => ({
      interval_id: interval.id,
      day: dateOf(at),
      part,
      micro: micro.toString(),
    })
    const foreseen = (postings.get(interval.id) ?? []).flatMap(({ at, split }) =>
      (['credits', 'cash', 'write_off'] as const)
        .filter(part => split[part] !== 0n)
        .map(part => row(at, part, split[part])),
    )
    const began = interval.startedAt > now ? interval.startedAt : now
    return foreseen.length > 0 ? foreseen : [row(began, 'cash', 0n)]
  })
}

/** The UTC day of a moment. */
export function dateOf(at: Date): string {
  return at.toISOString().slice(0, 10)
}

/** The columns of sums, of rows with `part` and `micro`. What was given back is taken off. */
const SUMS = sql`coalesce(sum(micro) filter (where part = 'cash'), 0) as cash,
  coalesce(sum(micro) filter (where part = 'credits'), 0) as credits,
  coalesce(sum(micro) filter (where part = 'write_off'), 0) as waived,
  bool_or(forward) as forward`

/**
 * What the books have of a customer's days, as rows `interval_id, day, part, micro, forward`.
 * @param which Further conditions, on `d`.
 */
function postedRows({ userId }: Snapshot, { from, until }: Days, which: SQL): SQL {
  return sql`
    select d.interval_id, d.day, d.part, case when d.back then -d.amount_micro else d.amount_micro end as micro,
      not d.back as forward
    from usage_day d
    where d.user_id = ${userId} and d.day >= ${from}::date and d.day < ${until}::date and ${which}`
}

/** The same of what is not posted yet. */
function unpostedRows({ unposted }: Snapshot, { from, until }: Days, which: SQL): SQL {
  return sql`
    select d.interval_id, d.day, d.part, d.micro, true as forward
    from jsonb_to_recordset(${JSON.stringify(unposted)}::jsonb)
      as d (interval_id uuid, day date, part text, micro bigint)
    where d.day >= ${from}::date and d.day < ${until}::date and ${which}`
}

/**
 * What was used on some days, posted or not, summed: rows `interval_id, day, cash, credits, waived, forward`; `forward`
 * where something was taken, not only given back.
 * @param as The day that a row's day counts for; left out: itself.
 */
export function usedRows(
  snapshot: Snapshot,
  days: Days,
  { search, as }: { search?: string | undefined; as?: SQL } = {},
): SQL {
  const which = matching(search)
  return sql`
    select interval_id, ${as ?? sql`day`} as day, ${SUMS}
    from (${postedRows(snapshot, days, which)} union all ${unpostedRows(snapshot, days, which)}) found
    group by 1, 2`
}

/**
 * A page of the same by day and stretch, in that order.
 * @param after The last day and stretch of the page before.
 */
export function usedPage(
  snapshot: Snapshot,
  days: Days,
  {
    search,
    after,
    limit,
  }: { search?: string | undefined; after: { day: string; intervalId: string }; limit: number },
): SQL {
  const which = sql`${matching(search)} and (d.day, d.interval_id) > (${after.day}::date, ${after.intervalId}::uuid)`
  const summed = (rows: SQL) => sql`
    (select interval_id, day, ${SUMS} from (${rows}) found group by interval_id, day
     order by day, interval_id limit ${limit})`
  // Each side gives as many as the page could need; the books' from their index, without a look at what comes after.
  return sql`
    select interval_id, day, sum(cash) as cash, sum(credits) as credits, sum(waived) as waived,
      bool_or(forward) as forward
    from (
      ${summed(postedRows(snapshot, days, which))} union all ${summed(unpostedRows(snapshot, days, which))}
    ) sides
    group by interval_id, day order by day, interval_id limit ${limit}`
}

/**
 * What was used by day and kind of usage, posted or not, as rows `day, usage, cash, credits, waived`; several of the same
 * day and kind. Read from totals, of which a day has a few whatever was started and stopped on it.
 * @param days Which; left out: all.
 */
export function usedByKind(snapshot: Snapshot, days?: Days): SQL {
  const within = days ? sql`day >= ${days.from}::date and day < ${days.until}::date` : sql`true`
  const of = (part: UnpostedDay['part']) => sql`case when u.part = ${part} then u.micro else 0 end`
  return sql`
    select day, usage, cash_micro as cash, credits_micro as credits, waived_micro as waived
    from usage_total where user_id = ${snapshot.userId} and ${within}
    union all
    select u.day, ${usageKindSql(sql`i.subject_kind`, sql`m.sku`)}, ${of('cash')}, ${of('credits')}, ${of('write_off')}
    from jsonb_to_recordset(${JSON.stringify(snapshot.unposted)}::jsonb)
      as u (interval_id uuid, day date, part text, micro bigint)
    ${ITS_STRETCH}
    where ${within}`
}

/** A condition on `d`: a name or an id of its stretch has a text in it. */
function matching(search: string | undefined): SQL {
  if (!search) return sql`true`
  const columns = [
    sql`i.subject_name`,
    sql`i.subject_id`,
    sql`i.subject_facts ->> 'instance_name'`,
    sql`i.subject_facts ->> 'instance_id'`,
  ]
  return sql`exists (select 1 from usage_interval i where i.id = d.interval_id and (${sql.join(
    columns.map(column => contains(column, search)),
    sql` or `,
  )}))`
}

/**
 * Whether a column has a text anywhere, in whichever case. What has none, such as an amount, is looked for as it is: the
 * database puts both into lower case for `ilike`, for each row, which takes six times as long as looking.
 */
export function contains(column: SQL, text: string): SQL {
  const pattern = `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`
  const hasCase = text.toLowerCase() !== text || text.toUpperCase() !== text
  return hasCase ? sql`${column} ilike ${pattern}` : sql`${column} like ${pattern}`
}

/**
 * The stretch `i` and the main meter `m` of each row of `u`, found by their keys: a customer's month is few of the rows that
 * these tables have, and a plan that reads all of them takes longer each month.
 */
const ITS_STRETCH = sql`
  join lateral (select * from usage_interval one where one.id = u.interval_id offset 0) i on true
  left join lateral (
    select * from usage_meter one where one.interval_id = u.interval_id and one.position = 0 offset 0
  ) m on true`

/** The id of what a stretch `i` is of. Calls of a model are one thing: the model. */
export const THING = sql`case i.subject_kind when 'model_call' then i.subject_name else i.subject_id end`

/**
 * Stretches as a bill has them: what they are, how long they were in a period, and what was charged for them in it.
 * @param used The name of rows as `usedRows` gives them.
 * @param step How long the period of each row is, from its day.
 */
export function stretchesOf(snapshot: Snapshot, used: SQL, step: 'day' | 'month'): SQL {
  const now = sql`${snapshot.now.toISOString()}::timestamptz`
  // `extract` gives the same as a decimal, which takes several times as long; no time is so long that a part of a second is lost.
  const secondsAt = (at: SQL) =>
    sql`floor(greatest(date_part('epoch', least(coalesce(i.ended_at, ${now}), ${at}) - i.started_at), 0))`
  return sql`
    select u.day, u.cash, u.credits, u.waived, i.id, i.subject_kind, i.subject_name, i.subject_facts, i.charge,
      ${THING} as subject_id,
      i.rate_micro, i.rate_seconds, i.started_at, i.ended_at, m.label, m.unit, m.quantity,
      m.rate_micro as unit_rate_micro, ${usageKindSql(sql`i.subject_kind`, sql`m.sku`)} as usage,
      -- Whole seconds from the start, as its cost is reckoned, so that days add up to months.
      (case when i.charge = 'by_time' then ${secondsAt(sql`w.closes`)} - ${secondsAt(sql`w.opens`)}
        when i.charge = 'term' and u.forward then floor(date_part('epoch', i.ended_at - i.started_at))
        else 0 end)::bigint as seconds,
      case when i.charge = 'by_time' then least(greatest(i.started_at, w.opens), coalesce(i.ended_at, w.closes), w.closes)
        else i.started_at end as begins,
      case when i.charge = 'by_time' then greatest(least(coalesce(i.ended_at, ${now}), w.closes), w.opens)
        else i.ended_at end as ends,
      i.ended_at is null and ${now} < w.closes as goes_on
    from ${used} u
    ${ITS_STRETCH}
    cross join lateral (
      select u.day::timestamp at time zone 'UTC' as opens,
        (u.day + ${sql.raw(`interval '1 ${step}'`)}) at time zone 'UTC' as closes
    ) w`
}
