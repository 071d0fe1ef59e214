import { and, eq, gt } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Queryable, Transaction } from '../../../platform/database/database.ts'
import { together } from '../../../platform/database/together.ts'
import type { Ids } from '../../../platform/ids.ts'
import { endsAtOnceMicro } from '../credits/lots.ts'
import { lockWallet } from '../ledger/wallet.ts'
import { ofSubject, type Subject } from '../subject.ts'
import { giveBack, notePostings, postInterval } from './booking.ts'
import { markReleased, releaseHold, requireAvailable } from './holds.ts'
import { insertInterval, insertIntervals, makeInterval, type Stretch } from './metering.ts'
import { postAll, selectOpen } from './posting.ts'
import { createSheet, takeSums, writeSheet } from './posting-sheet.ts'
import { hasEnds, payFrom, readPurse, releaseInPurse } from './purse.ts'
import { type Interval, usageInterval } from './tables.ts'
import { costOf, priceOf, type Rate } from './units.ts'

interface Deps {
  clock: Clock
  ids: Ids
}

/** What is paid in advance: its meters run from one moment to another, whole seconds apart. */
export interface Term extends Stretch {
  from: Date
  until: Date
}

/**
 * Takes the price of a term in advance, all of it or nothing: first from what is set aside for its subject.
 * @returns The price.
 * @throws ApiError `insufficient_balance` when less is available.
 */
export async function chargeTerm(tx: Transaction, deps: Deps, term: Term): Promise<bigint> {
  const seconds = Math.floor((term.until.getTime() - term.from.getTime()) / 1_000)
  if (seconds <= 0) throw new Error('a term ends after it begins')
  const priceMicro = priceOf(term.meters, seconds)
  await lockWallet(tx, term.userId)
  await postAll(tx, deps, term.userId)
  await requireAvailable(tx, deps.clock, term.userId, priceMicro, term.subject)
  const interval = await insertInterval(tx, deps, term, {
    charge: 'term',
    stopsWhenEmpty: false,
    rateMicro: priceMicro,
    rateSeconds: seconds,
    startedAt: term.from,
    endedAt: term.until,
  })
  await post(tx, deps, interval, term.until)
  return priceMicro
}

/** Which terms end early, and what the time that was used of them costs then. */
export interface TermEnd {
  userId: string
  subject: Subject
  at: Date
  /** What the time would have cost on demand. Left out: no more than its part of the term's price. */
  usedRate?: Rate
}

/**
 * Ends a subject's terms at a moment. What was used of each then costs what that time costs on demand, and at least
 * floor(seconds × price ÷ the term's seconds); never more than its price. The rest is given back, all of a term that
 * has not begun. None that is still to end: nothing.
 * @returns What was given back and is there, in micro-units: what goes back to credits that have ended meanwhile is not.
 */
export async function endTerm(tx: Transaction, deps: Deps, end: TermEnd): Promise<bigint> {
  const { userId } = end
  await lockWallet(tx, userId)
  const running = await selectRunning(tx, end)
  if (running.length === 0) return 0n
  await postAll(tx, deps, userId)
  const backMicro = await backOf(tx, deps, running, end)
  for (const interval of running) {
    const { endedAt, ...rate } = cutTerm(interval, end)
    await post(tx, deps, { ...interval, ...rate }, endedAt)
    await tx
      .update(usageInterval)
      .set({ ...rate, endedAt })
      .where(eq(usageInterval.id, interval.id))
  }
  return backMicro
}

/** What `endTerm` would give back, in micro-units; nothing changes. */
export async function termBackMicro(q: Queryable, deps: Pick<Deps, 'clock'>, end: TermEnd): Promise<bigint> {
  return await backOf(q, deps, await selectRunning(q, end), end)
}

async function backOf(
  q: Pick<Queryable, 'select'>,
  { clock }: Pick<Deps, 'clock'>,
  running: Interval[],
  end: TermEnd,
): Promise<bigint> {
  let backMicro = 0n
  for (const interval of running) {
    const { endedAt, ...rate } = cutTerm(interval, end)
    const micro = interval.postedMicro - costOf(rate, endedAt.getTime() - interval.startedAt.getTime())
    const { credits } = giveBack(interval, micro)
    backMicro += micro - (await endsAtOnceMicro(q, interval.id, -credits, clock.now()))
  }
  return backMicro
}

function selectRunning(q: Queryable, { userId, subject, at }: TermEnd): Promise<Interval[]> {
  return q
    .select()
    .from(usageInterval)
    .where(
      and(
        ofSubject(usageInterval, { userId, subject }),
        eq(usageInterval.charge, 'term'),
        gt(usageInterval.endedAt, at),
      ),
    )
}

/**
 * Where a term ends early, and the rate by which what was used of it costs what it does: the books reckon every
 * stretch by its own rate, so a term that ends early takes on another one.
 */
function cutTerm(interval: Interval, { at, usedRate }: TermEnd): Rate & { endedAt: Date } {
  const { rateMicro: priceMicro, rateSeconds, startedAt } = interval
  const endedAt = at < startedAt ? startedAt : at
  const elapsedMs = endedAt.getTime() - startedAt.getTime()
  const own = { rateMicro: priceMicro, rateSeconds }
  if (!usedRate || costOf(usedRate, elapsedMs) <= costOf(own, elapsedMs)) return { ...own, endedAt }
  if (costOf(usedRate, elapsedMs) < priceMicro) return { ...usedRate, endedAt }
  return { rateMicro: priceMicro, rateSeconds: Math.floor(elapsedMs / 1_000), endedAt }
}

/** What was counted, and when. */
export type Counted = Stretch & {
  at: Date
  /** Whose hold pays for it first, beside its own; left out: no other's. */
  paidFrom?: Subject
}

/**
 * Charges what was counted: tokens, seconds of video. It was used already, so what the wallet cannot pay is waived.
 * @returns The price.
 */
export async function chargeOnce(tx: Transaction, deps: Deps, counted: Counted): Promise<bigint> {
  await lockWallet(tx, counted.userId)
  await postAll(tx, deps, counted.userId)
  const interval = makeCounted(deps, counted)
  await insertIntervals(tx, [{ interval, meters: counted.meters }])
  await post(tx, deps, interval, counted.at, counted.paidFrom)
  return interval.rateMicro
}

/** The stretch of what was counted, in memory alone. */
function makeCounted(deps: Deps, { at, ...stretch }: Counted): Interval {
  return makeInterval(deps, stretch, {
    charge: 'once',
    stopsWhenEmpty: false,
    rateMicro: priceOf(stretch.meters, 0),
    rateSeconds: 1,
    startedAt: at,
    endedAt: at,
  })
}

/** What ends of one customer's subjects, and what was counted of them. */
export interface Settling {
  userId: string
  /** All that ends, whether something was counted of it or not. */
  subjects: readonly Subject[]
  counted: readonly Counted[]
  /** What pays for others and ends: it is let go once they are paid. */
  retired?: readonly Subject[]
  at: Date
}

/**
 * Lets go what was set aside for subjects and charges what was counted of them, as if `releaseHold` and `chargeOnce` were
 * called for one after another, with one set of statements. The caller holds the wallet's lock.
 * @returns The prices, in the order of what was counted.
 */
export async function settle(tx: Transaction, deps: Deps, settling: Settling): Promise<bigint[]> {
  const { userId, subjects, counted, at } = settling
  const [purse, open] = await together([readPurse(tx, userId), selectOpen(tx, [userId])])
  // Where credits end, what each may take depends on those before it.
  if (hasEnds(purse, at)) return await settleEach(tx, deps, settling)
  const sheet = createSheet()
  notePostings(sheet, { purse, open, until: at, now: at })
  const released = releaseInPurse(purse, subjects)
  const intervals = counted.map(one => makeCounted(deps, one))
  for (const [nth, interval] of intervals.entries()) {
    payFrom(purse, counted[nth]?.paidFrom, interval)
    notePostings(sheet, { purse, open: [interval], until: at, now: at })
  }
  const retired = releaseInPurse(purse, settling.retired ?? [])
  // With what is posted of them already: they are written once, and not changed a moment later.
  const made = intervals.map((interval, nth) => ({
    interval: { ...interval, ...takeSums(sheet, interval) },
    meters: counted[nth]?.meters ?? [],
  }))
  // Sent together; what comes first is written first, and what is posted names it.
  await together([
    insertIntervals(tx, made),
    released.length > 0 && markReleased(tx, released, at),
    writeSheet(tx, deps, sheet),
    retired.length > 0 && markReleased(tx, retired, at),
  ])
  return intervals.map(({ rateMicro }) => rateMicro)
}

async function settleEach(
  tx: Transaction,
  deps: Deps,
  { userId, subjects, counted, retired = [] }: Settling,
): Promise<bigint[]> {
  const prices = new Map<Counted, bigint>()
  for (const one of counted) if (one.paidFrom) prices.set(one, await chargeOnce(tx, deps, one))
  for (const subject of retired) await releaseHold(tx, deps, { userId, subject })
  for (const subject of subjects) {
    await releaseHold(tx, deps, { userId, subject })
    for (const one of counted.filter(
      of => !of.paidFrom && of.subject.id === subject.id && of.subject.kind === subject.kind,
    )) {
      prices.set(one, await chargeOnce(tx, deps, one))
    }
  }
  return counted.map(one => prices.get(one) ?? 0n)
}

/** Posts a stretch to a moment, whatever end is written down for it. */
async function post(
  tx: Transaction,
  deps: Deps,
  interval: Interval,
  until: Date,
  paidFrom?: Subject,
): Promise<void> {
  const purse = await readPurse(tx, interval.userId)
  payFrom(purse, paidFrom, interval)
  await postInterval(tx, deps, {
    purse,
    interval: { ...interval, endedAt: null },
    until,
  })
}
