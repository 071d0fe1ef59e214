import { usageDueMicro } from '@berth/contract/money'
import { and, asc, eq, gt, inArray, isNull, sql } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { Clock } from '../../platform/clock.ts'
import type { Database, Queryable, Transaction } from '../../platform/database/database.ts'
import type { Ids } from '../../platform/ids.ts'
import { usageInterval, walletHold } from './tables.ts'
import { type Interval, postUsage } from './usage-posting.ts'
import { lockWallet, readTotals } from './wallet.ts'

interface MeteringDeps {
  db: Database
  clock: Clock
  ids: Ids
  log: Pick<Logger, 'error'>
}

/** Customers whose usage is posted at the same time: a few of the pool's connections, so that calls go on. */
const POSTED_AT_ONCE_MAX = 4

/** Customers that are read at once; a page keeps the memory bounded whatever their number. */
const CUSTOMERS_PAGE = 500

/** What an interval is about. */
export interface IntervalStart {
  userId: string
  instanceId: string
  usage: 'compute' | 'disk'
  rateMicroPerHour: bigint
  instanceName: string
  gpuSpecName: string
  gpuCount: number
  at: Date
}

/** Starts an interval; one that is open for the instance ends first, at the same moment. */
export async function openInterval(
  tx: Transaction,
  deps: Pick<MeteringDeps, 'clock' | 'ids'>,
  { at, ...start }: IntervalStart,
): Promise<void> {
  await closeInterval(tx, deps, { userId: start.userId, instanceId: start.instanceId, at })
  await tx.insert(usageInterval).values({
    id: deps.ids.uuid(),
    ...start,
    startedAt: at,
    postedMicro: 0n,
    waivedMicro: 0n,
  })
}

/**
 * Ends an instance's open interval at a moment, and posts what is due to then. What was posted beyond it, because
 * the machine turned out to have died before the last tick, is given back. An end never precedes its start.
 */
export async function closeInterval(
  tx: Transaction,
  deps: Pick<MeteringDeps, 'clock' | 'ids'>,
  { userId, instanceId, at }: { userId: string; instanceId: string; at: Date },
): Promise<void> {
  const purse = await lockWallet(tx, userId)
  const [open] = await openIntervals(tx, userId, instanceId)
  if (!open) return
  const endedAt = at < open.startedAt ? open.startedAt : at
  const dueMicro = dueOf(open, endedAt)
  await postUsage(tx, deps, { purse, interval: open, dueMicro })
  await tx.update(usageInterval).set({ endedAt }).where(eq(usageInterval.id, open.id))
}

/**
 * One tick: posts what is due on every open interval, customer by customer, each in a short transaction of its
 * own, so that one that fails never stops the rest. Any number of ticks may run at once.
 * @param signal Ends the tick between two customers.
 * @returns Customers who have nothing left for a compute interval that is open.
 */
export async function postDue(deps: MeteringDeps, signal?: AbortSignal): Promise<{ exhausted: string[] }> {
  const exhausted: string[] = []
  let after: string | null = null
  for (;;) {
    const users: string[] = await customersWithOpenIntervals(deps.db, after)
    const queue = [...users]
    const work = async () => {
      for (let userId = queue.shift(); userId !== undefined; userId = queue.shift()) {
        if (signal?.aborted) return
        try {
          if (await postDueOf(deps, userId)) exhausted.push(userId)
        } catch (error) {
          deps.log.error({ err: error, userId }, 'usage could not be posted; the next tick tries again')
        }
      }
    }
    await Promise.all(Array.from({ length: POSTED_AT_ONCE_MAX }, work))
    after = users.at(-1) ?? null
    if (users.length < CUSTOMERS_PAGE || signal?.aborted) return { exhausted }
  }
}

/**
 * What instances have cost: posted, and due by now.
 * @returns Micro-units by instance id; an instance without intervals is zero.
 */
export async function costMicro(
  q: Queryable,
  { clock }: Pick<MeteringDeps, 'clock'>,
  instanceIds: string[],
): Promise<Map<string, bigint>> {
  const costs = new Map(instanceIds.map(id => [id, 0n]))
  if (instanceIds.length === 0) return costs
  const closed = await q
    .select({
      instanceId: usageInterval.instanceId,
      postedMicro: sql`sum(${usageInterval.postedMicro})`.mapWith(BigInt),
    })
    .from(usageInterval)
    .where(inArray(usageInterval.instanceId, instanceIds))
    .groupBy(usageInterval.instanceId)
  for (const { instanceId, postedMicro } of closed) costs.set(instanceId, postedMicro)
  const open = await q
    .select()
    .from(usageInterval)
    .where(and(inArray(usageInterval.instanceId, instanceIds), isNull(usageInterval.endedAt)))
  const now = clock.now()
  for (const interval of open) {
    costs.set(interval.instanceId, (costs.get(interval.instanceId) ?? 0n) + pendingMicro(interval, now))
  }
  return costs
}

/**
 * What an interval owes that is neither posted nor waived yet.
 * @param now Where an open interval is reckoned to.
 * @returns Micro-units, never negative.
 */
export function pendingMicro(
  interval: Pick<Interval, 'startedAt' | 'endedAt' | 'rateMicroPerHour' | 'postedMicro' | 'waivedMicro'>,
  now: Date,
): bigint {
  const pending = dueOf(interval, interval.endedAt ?? now) - interval.postedMicro - interval.waivedMicro
  return pending > 0n ? pending : 0n
}

function dueOf(interval: Pick<Interval, 'startedAt' | 'rateMicroPerHour'>, until: Date): bigint {
  return usageDueMicro(until.getTime() - interval.startedAt.getTime(), interval.rateMicroPerHour)
}

async function customersWithOpenIntervals(db: Database, after: string | null): Promise<string[]> {
  const rows = await db
    .selectDistinct({ userId: usageInterval.userId })
    .from(usageInterval)
    .where(and(isNull(usageInterval.endedAt), after === null ? undefined : gt(usageInterval.userId, after)))
    .orderBy(asc(usageInterval.userId))
    .limit(CUSTOMERS_PAGE)
  return rows.map(({ userId }) => userId)
}

/** Posts one customer's usage; says whether that used up what a compute interval could be paid from. */
async function postDueOf(deps: MeteringDeps, userId: string): Promise<boolean> {
  return await deps.db.transaction(async tx => {
    await lockWallet(tx, userId)
    for (const interval of await openIntervals(tx, userId)) {
      const dueMicro = dueOf(interval, deps.clock.now())
      // A clock that stepped back gives nothing back while the interval is open: it catches up.
      if (dueMicro <= interval.postedMicro + interval.waivedMicro) continue
      await postUsage(tx, deps, { purse: await readTotals(tx, userId), interval, dueMicro })
    }
    return (await exhaustedInstances(tx, userId)).length > 0
  })
}

/**
 * The instances that a customer can pay for no longer: a compute interval that costs something is open, the first
 * hour set aside for it is used up, and nothing else is available. Call it under the wallet's lock, so that money
 * which has arrived meanwhile counts.
 * @returns Instance ids in order; none while anything is available.
 */
export async function exhaustedInstances(tx: Transaction, userId: string): Promise<string[]> {
  const { availableMicro } = await readTotals(tx, userId)
  if (availableMicro > 0n) return []
  const rows = await tx
    .select({ instanceId: usageInterval.instanceId })
    .from(usageInterval)
    .leftJoin(
      walletHold,
      and(
        eq(walletHold.instanceId, usageInterval.instanceId),
        isNull(walletHold.releasedAt),
        gt(walletHold.amountMicro, walletHold.usedMicro),
      ),
    )
    .where(
      and(
        eq(usageInterval.userId, userId),
        isNull(usageInterval.endedAt),
        eq(usageInterval.usage, 'compute'),
        gt(usageInterval.rateMicroPerHour, 0n),
        isNull(walletHold.id),
      ),
    )
    .orderBy(asc(usageInterval.instanceId))
  return rows.map(({ instanceId }) => instanceId)
}

/** A customer's open intervals, oldest first; of one instance where that is given. */
async function openIntervals(tx: Transaction, userId: string, instanceId?: string): Promise<Interval[]> {
  return await tx
    .select()
    .from(usageInterval)
    .where(
      and(
        eq(usageInterval.userId, userId),
        isNull(usageInterval.endedAt),
        instanceId === undefined ? undefined : eq(usageInterval.instanceId, instanceId),
      ),
    )
    .orderBy(asc(usageInterval.startedAt), asc(usageInterval.id))
}
