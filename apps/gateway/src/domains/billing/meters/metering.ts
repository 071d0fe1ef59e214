import { and, eq, isNull, sql } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Queryable, Transaction } from '../../../platform/database/database.ts'
import { statement } from '../../../platform/database/statement.ts'
import type { Ids } from '../../../platform/ids.ts'
import { wallet } from '../ledger/tables.ts'
import { lockWallet, readTotals } from '../ledger/wallet.ts'
import { ofSubject, type Subject } from '../subject.ts'
import { dueOf, postInterval } from './booking.ts'
import { endCredits, postNearFloor } from './posting.ts'
import { readPurse } from './purse.ts'
import { type Interval, type SubjectFacts, usageInterval } from './tables.ts'
import { type Meter, rateOf, restOf } from './units.ts'
import { dueSql, unposted } from './unposted.ts'

interface Deps {
  clock: Clock
  ids: Ids
}

/** What a stretch is about. */
export interface Stretch {
  userId: string
  subject: Subject
  /** As it is called now: receipts keep it. */
  name: string
  facts?: SubjectFacts
  /** The main one first. */
  meters: Meter[]
}

/** What runs from a moment on. */
export interface MeterStart extends Stretch {
  /** Whether the subject is to be stopped when nothing is left to pay for it; otherwise the rest is waived. */
  stopsWhenEmpty: boolean
  at: Date
}

/**
 * Starts a subject's meters; those that run for it end first, at the same moment. The stretch begins with what the
 * customer's stretches have left over so far.
 */
export async function openMeters(tx: Transaction, deps: Deps, start: MeterStart): Promise<void> {
  const { userId, subject, stopsWhenEmpty, at } = start
  await closeMeters(tx, deps, { userId, subject, at })
  await insertInterval(tx, deps, start, {
    charge: 'by_time',
    stopsWhenEmpty,
    ...rateOf(start.meters),
    carriedParts: await takeRest(tx, userId),
    startedAt: at,
    endedAt: null,
  })
}

/** What a customer's stretches have left over, and leave over no more. The caller holds the wallet's lock. */
async function takeRest(tx: Transaction, userId: string): Promise<bigint> {
  const [found] = await tx
    .select({ restParts: wallet.restParts })
    .from(wallet)
    .where(eq(wallet.userId, userId))
  const restParts = found?.restParts ?? 0n
  if (restParts > 0n) await tx.update(wallet).set({ restParts: 0n }).where(eq(wallet.userId, userId))
  return restParts
}

/**
 * Ends a subject's open stretch at a moment, and posts what is due to then; none open: nothing. What was posted beyond
 * it, because a machine turned out to have died before the last posting, is given back. An end never precedes its start.
 */
export async function closeMeters(
  tx: Transaction,
  deps: Deps,
  { userId, subject, at }: { userId: string; subject: Subject; at: Date },
): Promise<void> {
  await lockWallet(tx, userId)
  await endCredits(tx, deps, userId)
  const [open] = await tx
    .select()
    .from(usageInterval)
    .where(and(ofSubject(usageInterval, { userId, subject }), isNull(usageInterval.endedAt)))
  if (!open) return
  const endedAt = at < open.startedAt ? open.startedAt : at
  await postInterval(tx, deps, { purse: await readPurse(tx, userId), interval: open, until: endedAt })
  const restParts = restOf(open, endedAt.getTime() - open.startedAt.getTime(), open.carriedParts)
  await tx.update(usageInterval).set({ endedAt, restParts }).where(eq(usageInterval.id, open.id))
  if (restParts > 0n) {
    await tx
      .update(wallet)
      .set({ restParts: sql`${wallet.restParts} + ${restParts}` })
      .where(eq(wallet.userId, userId))
  }
  await postNearFloor(tx, deps, userId)
}

/** What a stretch is besides what it is about. */
type StretchTerms = Pick<
  Interval,
  'charge' | 'stopsWhenEmpty' | 'rateMicro' | 'rateSeconds' | 'startedAt' | 'endedAt'
> &
  Partial<Pick<Interval, 'carriedParts'>>

/**
 * Writes a stretch and its meters down, with nothing posted.
 * @returns It.
 */
export async function insertInterval(
  tx: Transaction,
  deps: Pick<Deps, 'ids'>,
  stretch: Stretch,
  terms: StretchTerms,
): Promise<Interval> {
  const interval = makeInterval(deps, stretch, terms)
  await insertIntervals(tx, [{ interval, meters: stretch.meters }])
  return interval
}

/** A stretch of which nothing is posted, in memory alone. */
export function makeInterval(
  { ids }: Pick<Deps, 'ids'>,
  { userId, subject, name, facts }: Stretch,
  terms: StretchTerms,
): Interval {
  return {
    ...{ carriedParts: 0n, restParts: 0n },
    ...terms,
    ...{ id: ids.uuid(), userId, subjectKind: subject.kind, subjectId: subject.id },
    ...{ subjectName: name, subjectFacts: facts ?? null },
    ...{ creditsMicro: 0n, cashMicro: 0n, postedMicro: 0n, waivedMicro: 0n },
    ...{ postedUntil: terms.startedAt, postings: 0 },
  }
}

/** Writes stretches down as they are, with their meters: what is posted of them is written by whoever posts it. */
export async function insertIntervals(
  tx: Transaction,
  made: readonly { interval: Interval; meters: readonly Meter[] }[],
): Promise<void> {
  if (made.length === 0) return
  // One parameter for all rows: a thousand of them take longer to write into a statement than to write down.
  const intervals = made.map(({ interval }) => ({
    ...{ id: interval.id, user: interval.userId, kind: interval.subjectKind, subject: interval.subjectId },
    ...{ name: interval.subjectName, facts: interval.subjectFacts, charge: interval.charge },
    ...{ stops: interval.stopsWhenEmpty, rate: `${interval.rateMicro}`, seconds: interval.rateSeconds },
    ...{ started: interval.startedAt.toISOString(), ended: interval.endedAt?.toISOString() ?? null },
    ...{
      carried: `${interval.carriedParts}`,
      credits: `${interval.creditsMicro}`,
      cash: `${interval.cashMicro}`,
    },
    ...{ waived: `${interval.waivedMicro}`, until: interval.postedUntil.toISOString() },
    postings: interval.postings,
  }))
  const meters = made.flatMap(({ interval, meters }) =>
    meters.map(({ rateMicro, ...meter }, position) => ({
      ...{ ...meter, interval: interval.id, position, rate: `${rateMicro}` },
    })),
  )
  await insertStretches(tx, JSON.stringify(intervals), JSON.stringify(meters))
}

const insertStretches = statement(
  'usage_stretches',
  `with made as (
    insert into usage_interval (id, user_id, subject_kind, subject_id, subject_name, subject_facts, charge,
      stops_when_empty, rate_micro, rate_seconds, started_at, ended_at, carried_parts, credits_micro, cash_micro,
      waived_micro, posted_until, postings)
    select i.id, i."user", i.kind, i.subject, i.name, i.facts, i.charge, i.stops, i.rate, i.seconds, i.started, i.ended,
      i.carried, i.credits, i.cash, i.waived, i.until, i.postings
    from json_to_recordset($1::json) as i(id uuid, "user" uuid, kind text, subject text, name text, facts jsonb,
      charge text, stops boolean, rate bigint, seconds int, started timestamptz, ended timestamptz, carried bigint,
      credits bigint, cash bigint, waived bigint, until timestamptz, postings int)
  )
  insert into usage_meter (interval_id, position, sku, label, unit, quantity, rate_micro)
  select m.interval, m.position, m.sku, m.label, m.unit, m.quantity, m.rate
  from json_to_recordset($2::json) as m(interval uuid, position smallint, sku text, label text, unit text,
    quantity bigint, rate bigint)`,
)

/**
 * What subjects have cost: posted, and due by now.
 * @param kind Of all of them.
 * @returns Micro-units by id; a subject that never cost anything is zero.
 */
export async function costMicro(
  q: Queryable,
  { clock }: Pick<Deps, 'clock'>,
  kind: Subject['kind'],
  ids: string[],
): Promise<Map<string, bigint>> {
  const costs = new Map(ids.map(id => [id, 0n]))
  if (ids.length === 0) return costs
  const now = sql`${clock.now().toISOString()}::timestamptz`
  // In one statement, so that a posting beside it is counted once.
  const { rows } = await q.execute<{ id: string; micro: string }>(sql`
    select i.subject_id as id, sum(case when i.ended_at is null
      then greatest(i.posted_micro, ${dueSql(now)} - i.waived_micro) else i.posted_micro end) as micro
    from usage_interval i
    where i.subject_kind = ${kind} and i.subject_id in (${sql.join(
      ids.map(id => sql`${id}`),
      sql`, `,
    )})
    group by i.subject_id`)
  for (const { id, micro } of rows) costs.set(id, BigInt(micro))
  return costs
}

/**
 * What a stretch owes that is neither posted nor waived yet.
 * @param now Where an open one is reckoned to.
 * @returns Micro-units, never negative.
 */
export function unpostedMicro(
  interval: Parameters<typeof dueOf>[0] & Pick<Interval, 'postedMicro' | 'waivedMicro'>,
  now: Date,
): bigint {
  const micro = dueOf(interval, now) - interval.postedMicro - interval.waivedMicro
  return micro > 0n ? micro : 0n
}

/**
 * The subjects that a customer can pay for no longer: meters that cost something run, what was set aside for them is
 * used up, and nothing else is available. Call it under the wallet's lock, so that money which has arrived meanwhile
 * counts. What is due and not posted yet counts as if it were posted.
 * @returns By kind and id; none while anything is available.
 */
export async function exhaustedSubjects(
  tx: Transaction,
  { clock }: Pick<Deps, 'clock'>,
  userId: string,
): Promise<Subject[]> {
  const { availableMicro, unpaidSubjects } = await readTotals(tx, clock, userId)
  if (availableMicro > 0n || unpaidSubjects === 0) return []
  const now = sql`${clock.now().toISOString()}::timestamptz`
  const { rows } = await tx.execute<{ kind: Subject['kind']; id: string }>(sql`
    select subject_kind as kind, subject_id as id from (${unposted(now, sql`i.user_id = ${userId}`)}) u
    where stops_when_empty and rate_micro > 0 and unposted >= reserve
    order by subject_kind, subject_id`)
  return rows
}

/**
 * Whether a subject's meters go on without anybody paying: they cost something, what was set aside for them is used up,
 * and nothing else is available. Of what is stopped then, and of what goes on and is waived.
 * @param q A transaction that holds the wallet's lock, where something follows from it.
 */
export async function isUnpaid(
  q: Queryable,
  { clock }: Pick<Deps, 'clock'>,
  { userId, subject }: { userId: string; subject: Subject },
): Promise<boolean> {
  const { availableMicro } = await readTotals(q, clock, userId)
  if (availableMicro > 0n) return false
  const now = sql`${clock.now().toISOString()}::timestamptz`
  const which = sql`i.user_id = ${userId} and i.subject_kind = ${subject.kind} and i.subject_id = ${subject.id}`
  const { rows } = await q.execute(sql`
    select 1 from (${unposted(now, which)}) u where rate_micro > 0 and unposted >= reserve`)
  return rows.length > 0
}
