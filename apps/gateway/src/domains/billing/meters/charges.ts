import { and, eq, gt } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import type { Ids } from '../../../platform/ids.ts'
import { lockWallet } from '../ledger/wallet.ts'
import { ofSubject, type Subject } from '../subject.ts'
import { requireAvailable } from './holds.ts'
import { insertInterval, type Stretch } from './metering.ts'
import { type Interval, postAll, postInterval, readPurse } from './posting.ts'
import { usageInterval } from './tables.ts'
import { priceOf } from './units.ts'

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
 * Takes the price of a term in advance, all of it or nothing.
 * @returns The price.
 * @throws ApiError `insufficient_balance` when less is available.
 */
export async function chargeTerm(tx: Transaction, deps: Deps, term: Term): Promise<bigint> {
  const seconds = Math.floor((term.until.getTime() - term.from.getTime()) / 1_000)
  if (seconds <= 0) throw new Error('a term ends after it begins')
  const priceMicro = priceOf(term.meters, seconds)
  await lockWallet(tx, term.userId)
  await postAll(tx, deps, term.userId)
  await requireAvailable(tx, deps.clock, term.userId, priceMicro)
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

/**
 * Ends a subject's terms at a moment, and gives back what they would have cost from there on: of each its price less
 * floor(seconds × price ÷ the term's seconds). None that is still to end: nothing.
 * @returns What was given back, in micro-units.
 */
export async function endTerm(
  tx: Transaction,
  deps: Deps,
  { userId, subject, at }: { userId: string; subject: Subject; at: Date },
): Promise<bigint> {
  await lockWallet(tx, userId)
  const running = await tx
    .select()
    .from(usageInterval)
    .where(
      and(
        ofSubject(usageInterval, { userId, subject }),
        eq(usageInterval.charge, 'term'),
        gt(usageInterval.endedAt, at),
      ),
    )
  if (running.length === 0) return 0n
  await postAll(tx, deps, userId)
  let backMicro = 0n
  for (const interval of running) {
    const endedAt = at < interval.startedAt ? interval.startedAt : at
    backMicro += interval.postedMicro - (await post(tx, deps, interval, endedAt))
    await tx.update(usageInterval).set({ endedAt }).where(eq(usageInterval.id, interval.id))
  }
  return backMicro
}

/**
 * Charges what was counted: tokens, seconds of video. It was used already, so what the wallet cannot pay is waived.
 * @returns The price.
 */
export async function chargeOnce(
  tx: Transaction,
  deps: Deps,
  { at, ...stretch }: Stretch & { at: Date },
): Promise<bigint> {
  const priceMicro = priceOf(stretch.meters, 0)
  await lockWallet(tx, stretch.userId)
  await postAll(tx, deps, stretch.userId)
  const interval = await insertInterval(tx, deps, stretch, {
    charge: 'once',
    stopsWhenEmpty: false,
    rateMicro: priceMicro,
    rateSeconds: 1,
    startedAt: at,
    endedAt: at,
  })
  await post(tx, deps, interval, at)
  return priceMicro
}

/** Posts a stretch to a moment, whatever end is written down for it. Gives what it has taken in all then. */
async function post(tx: Transaction, deps: Deps, interval: Interval, until: Date): Promise<bigint> {
  const { userId } = interval
  await postInterval(tx, deps, {
    purse: await readPurse(tx, userId),
    interval: { ...interval, endedAt: null },
    until,
  })
  const [posted] = await tx
    .select({ postedMicro: usageInterval.postedMicro })
    .from(usageInterval)
    .where(eq(usageInterval.id, interval.id))
  return posted?.postedMicro ?? 0n
}
