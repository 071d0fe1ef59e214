import { and, asc, count, gt, inArray, isNull, lte, sql } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { Clock } from '../../../platform/clock.ts'
import type { Database, Queryable, Transaction } from '../../../platform/database/database.ts'
import type { Ids } from '../../../platform/ids.ts'
import { creditGrant } from '../credits/tables.ts'
import { wallet } from '../ledger/tables.ts'
import { lockWallet, selectTotals, type WalletTotals, withSumsOfEach } from '../ledger/wallet.ts'
import { endCredits, isNearFloor, postAll, postTogether } from './posting.ts'
import { usageInterval } from './tables.ts'

interface TickDeps {
  db: Database
  clock: Clock
  ids: Ids
  log: Pick<Logger, 'error' | 'warn'>
}

/** What runs is posted when so much of the clock's time is over, counted from midnight in UTC. */
const POST_EVERY_MS = 3_600_000
/** Customers who are posted alone at the same time: a few of the pool's connections, so that calls go on. */
const POSTED_AT_ONCE_MAX = 4
/** Stretches that one transaction posts, of as many customers as have them: their calls wait for it. */
const STRETCHES_AT_ONCE_MAX = 200
/**
 * Stretches that one tick posts for their hour: what is left waits for the next one, so that no tick, and nobody whose
 * empty balance it would see, waits for all of them. Some seven seconds' work.
 */
const STRETCHES_PER_TICK_MAX = 50_000
/** Customers that are read at once; a page keeps the memory bounded whatever their number. */
const CUSTOMERS_PAGE = 500

/**
 * One tick. Books the ends of credits that have passed, then looks at everybody for whom something runs, without writing,
 * and posts where it is time: where a wallet comes near its floor, and once an hour, of which one tick does no more than
 * {@link STRETCHES_PER_TICK_MAX} stretches. Customers are posted several at once, in short transactions; where one of them
 * fails, each of them has one of their own, so that one that fails never stops the rest. Any number of ticks may run at once.
 * @param signal Ends the tick between two transactions.
 * @param stretchesMax Other than usual for tests.
 * @returns Customers who have nothing left for what runs, by what is due and not by what is posted.
 */
export async function postDue(
  deps: TickDeps,
  signal?: AbortSignal,
  stretchesMax = STRETCHES_PER_TICK_MAX,
): Promise<{ exhausted: string[] }> {
  await endAllCredits(deps, signal)
  let room = stretchesMax
  const exhausted: string[] = []
  let after: string | null = null
  for (;;) {
    const now = deps.clock.now()
    const page: WalletTotals[] = await readRunning(deps, after)
    exhausted.push(...page.filter(({ unpaidSubjects }) => unpaidSubjects > 0).map(({ userId }) => userId))
    const urgent = page.filter(isNearEmpty)
    const due = room > 0 ? page.filter(totals => isOfHourBefore(totals, now) && !isNearEmpty(totals)) : []
    await postCustomers(deps, urgent.map(idOf), Number.POSITIVE_INFINITY, signal)
    room -= await postCustomers(deps, due.map(idOf), room, signal)
    after = page.at(-1)?.userId ?? null
    // A page with wallets that could not be read is not the last one for that.
    if (after === null || signal?.aborted) return { exhausted }
  }
}

/**
 * A page of the customers for whom something runs that costs something, with what they have.
 * @param after The last user id of the page before; null for the first page.
 * @returns By user id; none when there are no more.
 */
export async function readRunning(
  { db, clock, log }: { db: Pick<Queryable, 'select'>; clock: Clock; log: Pick<Logger, 'error'> },
  after: string | null,
): Promise<WalletTotals[]> {
  const rows = await selectTotals(
    db,
    sql`${clock.now().toISOString()}::timestamptz`,
    sql`${after === null ? sql`true` : sql`${wallet.userId} > ${after}`}
        and exists (select 1 from usage_interval i where i.user_id = ${wallet.userId}
                    and i.ended_at is null and i.rate_micro > 0)`,
  )
    .orderBy(asc(wallet.userId))
    .limit(CUSTOMERS_PAGE)
  return withSumsOfEach(rows, log)
}

const idOf = ({ userId }: WalletTotals): string => userId

/** Near the floor only while there is something that a posting would take: an empty wallet waits for its hour. */
function isNearEmpty(totals: WalletTotals): boolean {
  return totals.unpostedSince !== null && totals.postableMicro > 0n && isNearFloor(totals)
}

/** Whether something of an hour that is over is not posted. */
function isOfHourBefore({ unpostedSince }: WalletTotals, now: Date): boolean {
  const began = Math.floor(now.getTime() / POST_EVERY_MS) * POST_EVERY_MS
  return unpostedSince !== null && unpostedSince.getTime() < began
}

/** The same for customers for whom nothing runs: an end is in the books soon after its moment, whoever looks (R3.8). */
async function endAllCredits(deps: TickDeps, signal?: AbortSignal): Promise<void> {
  let after: string | null = null
  for (;;) {
    const page: { userId: string }[] = await deps.db
      .selectDistinct({ userId: creditGrant.userId })
      .from(creditGrant)
      .where(
        and(
          gt(creditGrant.restMicro, 0n),
          isNull(creditGrant.endedAt),
          lte(creditGrant.endsAt, deps.clock.now()),
          after === null ? undefined : gt(creditGrant.userId, after),
        ),
      )
      .orderBy(asc(creditGrant.userId))
      .limit(CUSTOMERS_PAGE)
    await eachCustomer(
      deps,
      page.map(({ userId }) => userId),
      (tx, userId) => endCredits(tx, deps, userId),
      signal,
    )
    after = page.at(-1)?.userId ?? null
    if (page.length < CUSTOMERS_PAGE || signal?.aborted) return
  }
}

/**
 * Posts what is due of customers, several in one transaction, and one transaction after the other: calls have the rest of
 * the processors meanwhile. One that fails never stops the rest.
 * @param stretchesMax Whoever comes once so many are posted is left out.
 * @returns How many stretches were posted.
 */
async function postCustomers(
  deps: TickDeps,
  userIds: string[],
  stretchesMax: number,
  signal?: AbortSignal,
): Promise<number> {
  const alone: string[] = []
  const { batches, stretches } = await inBatches(deps.db, userIds, stretchesMax)
  for (const batch of batches) {
    if (signal?.aborted) return stretches
    try {
      alone.push(...(await deps.db.transaction(tx => postTogether(tx, deps, batch))))
    } catch (error) {
      deps.log.warn({ err: error, customers: batch.length }, 'customers could not be posted together')
      alone.push(...batch)
    }
  }
  await eachCustomer(deps, alone, (tx, userId) => postAll(tx, deps, userId), signal)
  return stretches
}

/** Shares customers out so that what is posted at once is bounded: what a transaction has locked waits for all of it. */
async function inBatches(
  db: Pick<Queryable, 'select'>,
  userIds: string[],
  stretchesMax: number,
): Promise<{ batches: string[][]; stretches: number }> {
  if (userIds.length === 0) return { batches: [], stretches: 0 }
  const rows = await db
    .select({ userId: usageInterval.userId, stretches: count() })
    .from(usageInterval)
    .where(and(inArray(usageInterval.userId, userIds), isNull(usageInterval.endedAt)))
    .groupBy(usageInterval.userId)
    .orderBy(asc(usageInterval.userId))
  const batches: string[][] = []
  let room = 0
  let all = 0
  for (const { userId, stretches } of rows) {
    if (all >= stretchesMax) break
    if (stretches > room || batches.length === 0) {
      batches.push([])
      room = STRETCHES_AT_ONCE_MAX
    }
    batches.at(-1)?.push(userId)
    room -= stretches
    all += stretches
  }
  return { batches, stretches: all }
}

/** Does the work of each customer under the lock of their wallet; one that fails never stops the rest. */
async function eachCustomer(
  deps: TickDeps,
  userIds: string[],
  post: (tx: Transaction, userId: string) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  const queue = userIds.values()
  const work = async () => {
    for (const userId of queue) {
      if (signal?.aborted) return
      try {
        await deps.db.transaction(async tx => {
          await lockWallet(tx, userId)
          await post(tx, userId)
        })
      } catch (error) {
        deps.log.error({ err: error, userId }, 'usage could not be posted; the next tick tries again')
      }
    }
  }
  await Promise.all(Array.from({ length: POSTED_AT_ONCE_MAX }, work))
}
