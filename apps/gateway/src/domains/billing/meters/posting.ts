import { and, asc, eq, gt, isNull, lte } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import type { Ids } from '../../../platform/ids.ts'
import { writeEnds } from '../credits/lots.ts'
import { creditGrant } from '../credits/tables.ts'
import { readTotals, type WalletTotals } from '../ledger/wallet.ts'
import { dueOf, endInPurse, type Interval, postInterval, readPurse } from './booking.ts'
import { usageInterval } from './tables.ts'

interface Deps {
  clock: Clock
  ids: Ids
}

/** A wallet comes near its floor when what is available lasts no longer than this: several ticks. */
const NEAR_FLOOR_MS = 600_000

/**
 * Posts what is due by now on every open stretch of a customer. The caller holds the wallet's lock. Call it before
 * money comes in: what nobody could pay until then is waived, not taken from the new money.
 */
export async function postAll(tx: Transaction, deps: Deps, userId: string): Promise<void> {
  await endCredits(tx, deps, userId)
  await postOpen(tx, deps, userId, deps.clock.now())
}

/**
 * Books the ends of credits that have passed, each at its moment: what ran until then is posted first and uses them, so
 * that it is the same whoever looks first, and how late (R3.8). The caller holds the wallet's lock. Nothing that is
 * charged or given back may be posted before it.
 */
export async function endCredits(tx: Transaction, deps: Deps, userId: string): Promise<void> {
  const ends = await tx
    .selectDistinct({ at: creditGrant.endsAt })
    .from(creditGrant)
    .where(
      and(
        eq(creditGrant.userId, userId),
        gt(creditGrant.restMicro, 0n),
        isNull(creditGrant.endedAt),
        lte(creditGrant.endsAt, deps.clock.now()),
      ),
    )
    .orderBy(asc(creditGrant.endsAt))
  for (const { at } of ends) {
    if (at === null) continue
    await postOpen(tx, deps, userId, at)
    const purse = await readPurse(tx, userId)
    const ends = endInPurse(purse, at)
    const heldMicro = purse.holds.reduce((sum, { leftMicro }) => sum + leftMicro, 0n)
    if (purse.keptMicro > heldMicro) throw new Error('credits ended that the account does not have')
    await writeEnds(tx, deps, { userId, currency: purse.currency, at }, ends)
  }
}

/** A customer's open stretches, in the order in which they are posted. */
export function selectOpen(tx: Transaction, userId: string): Promise<Interval[]> {
  return tx
    .select()
    .from(usageInterval)
    .where(and(eq(usageInterval.userId, userId), isNull(usageInterval.endedAt)))
    .orderBy(asc(usageInterval.startedAt), asc(usageInterval.id))
}

/** Posts what is due at a moment on every open stretch of a customer, none before what is posted. */
async function postOpen(tx: Transaction, deps: Deps, userId: string, until: Date): Promise<void> {
  const open = await selectOpen(tx, userId)
  if (open.length === 0) return
  const purse = await readPurse(tx, userId)
  for (const interval of open) {
    if (until < interval.startedAt) continue
    // A clock that stepped back gives nothing back while the stretch is open: it catches up.
    if (dueOf(interval, until) <= interval.postedMicro + interval.waivedMicro) continue
    await postInterval(tx, deps, { purse, interval, until })
  }
}

/**
 * Posts all where the wallet is near its floor: only there does the order of a posting and of what comes next matter.
 */
export async function postNearFloor(tx: Transaction, deps: Deps, userId: string): Promise<void> {
  if (isNearFloor(await readTotals(tx, deps.clock, userId))) await postAll(tx, deps, userId)
}

/** Whether something is due that a wallet can hardly pay, or cannot. */
export function isNearFloor(totals: WalletTotals): boolean {
  const { unpostedMicro, availableMicro, burnMicroPerHour } = totals
  return unpostedMicro > 0n && availableMicro * 3_600_000n <= burnMicroPerHour * BigInt(NEAR_FLOOR_MS)
}
