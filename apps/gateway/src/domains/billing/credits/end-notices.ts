import { MICRO_PER_CENT } from '@berth/contract/money'
import { and, asc, eq, gt, isNotNull, min, type SQL, sql } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { Clock } from '../../../platform/clock.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import type { Events } from '../../../platform/events/events.ts'
import { creditsEnding } from '../events.ts'
import { lockWallet } from '../ledger/wallet.ts'
import { readLeft } from './credit-list.ts'
import { creditEndNotice, creditGrant } from './tables.ts'

interface EndNoticesDeps {
  db: Database
  clock: Clock
  log: Pick<Logger, 'error'>
  events: Pick<Events, 'emit'>
}

/** So long before credits end their customer is told, the farthest first. */
const DAYS_BEFORE = [7, 1] as const
type DaysBefore = (typeof DAYS_BEFORE)[number]

const DAY_MS = 86_400_000
/** Customers who are looked at in one go. */
const PAGE = 100

/** A lot that ends, as its customer has it now. */
interface EndingLot {
  id: string
  endsAt: Date
  createdAt: Date
  modelsOnly: boolean
  leftMicro: bigint
  /** The least days before its end of which its customer was told; null before. */
  toldDays: number | null
}

/**
 * Tells customers of credits that are about to end, a week and a day before (R3.8, B4): in one notice all that ends on the
 * same dates. What is spent is not told of, nor what was given later than the notice would have been: whoever redeems a coupon
 * for three days has just read so. Any number of rounds may run at once; each customer takes a short transaction, so that
 * one that fails never stops the rest.
 * @returns How many customers it told.
 */
export async function tellEndings(deps: EndNoticesDeps, signal?: AbortSignal): Promise<number> {
  let told = 0
  let after: string | null = null
  for (;;) {
    const page: string[] = await dueCustomers(deps, after)
    for (const userId of page) {
      if (signal?.aborted) return told
      try {
        if (await deps.db.transaction(tx => tellCustomer(tx, deps, userId))) told += 1
      } catch (error) {
        deps.log.error(
          { err: error, userId },
          'the end of credits could not be told; the next round tries again',
        )
      }
    }
    after = page.at(-1) ?? null
    if (page.length < PAGE || after === null) return told
  }
}

/** A page of customers who may be to be told something. */
async function dueCustomers({ db, clock }: EndNoticesDeps, after: string | null): Promise<string[]> {
  const now = clock.now().toISOString()
  const isDue = (
    days: DaysBefore,
  ): SQL => sql`(g.ends_at <= ${now}::timestamptz + ${days} * interval '24 hours'
    and g.created_at <= g.ends_at - ${days} * interval '24 hours'
    and not exists (select from credit_end_notice n where n.grant_id = g.id and n.days <= ${days}))`
  const { rows } = await db.execute<{ userId: string }>(sql`
    select distinct g.user_id as "userId" from credit_grant g
    where g.rest_micro >= ${MICRO_PER_CENT} and g.ended_at is null and g.ends_at > ${now}::timestamptz
      and (${sql.join(DAYS_BEFORE.map(isDue), sql` or `)})
      ${after === null ? sql`` : sql`and g.user_id > ${after}`}
    order by g.user_id limit ${PAGE}`)
  return rows.map(({ userId }) => userId)
}

/** Tells one customer what is due by now. @returns Whether there was anything to tell. */
async function tellCustomer(tx: Transaction, deps: EndNoticesDeps, userId: string): Promise<boolean> {
  const { currency } = await lockWallet(tx, userId)
  const now = deps.clock.now()
  const lots = await readEnding(tx, deps, userId)
  // By date: the nearest notice of any lot that ends on it is that of all of them.
  const dates = new Map<string, DaysBefore>()
  for (const lot of lots) {
    const days = dueDays(lot, now)
    if (days !== null) dates.set(dateOf(lot), least(days, dates.get(dateOf(lot))))
  }
  const told = lots.flatMap(lot => {
    const days = dates.get(dateOf(lot))
    return days === undefined || isTold(lot, days) ? [] : [{ ...lot, days }]
  })
  if (told.length === 0) return false
  await tx
    .insert(creditEndNotice)
    .values(told.map(({ id: grantId, days }) => ({ grantId, days, toldAt: now })))
  await deps.events.emit(tx, creditsEnding, {
    userId,
    at: now.toISOString(),
    currency,
    credits: sumsOf(told),
  })
  return true
}

/** What is there of credits that end, the nearest end first. */
async function readEnding(tx: Transaction, deps: EndNoticesDeps, userId: string): Promise<EndingLot[]> {
  const { leftOf } = await readLeft(tx, deps.clock, userId)
  const rows = await tx
    .select({
      id: creditGrant.id,
      endsAt: creditGrant.endsAt,
      createdAt: creditGrant.createdAt,
      modelsOnly: creditGrant.modelsOnly,
      toldDays: min(creditEndNotice.days),
    })
    .from(creditGrant)
    .leftJoin(creditEndNotice, eq(creditEndNotice.grantId, creditGrant.id))
    .where(and(eq(creditGrant.userId, userId), gt(creditGrant.restMicro, 0n), isNotNull(creditGrant.endsAt)))
    .groupBy(creditGrant.id)
    .orderBy(asc(creditGrant.endsAt), asc(creditGrant.id))
  return rows.flatMap(({ endsAt, ...row }) => {
    const leftMicro = leftOf.get(row.id) ?? 0n
    return endsAt !== null && leftMicro >= MICRO_PER_CENT ? [{ ...row, endsAt, leftMicro }] : []
  })
}

/** Of which notice a lot is due by now: the nearest, where several were missed. */
function dueDays(lot: EndingLot, now: Date): DaysBefore | null {
  const days = DAYS_BEFORE.findLast(one => lot.endsAt.getTime() - now.getTime() <= one * DAY_MS)
  if (days === undefined || isTold(lot, days)) return null
  return lot.createdAt.getTime() <= lot.endsAt.getTime() - days * DAY_MS ? days : null
}

const isTold = ({ toldDays }: EndingLot, days: DaysBefore) => toldDays !== null && toldDays <= days
const dateOf = ({ endsAt }: Pick<EndingLot, 'endsAt'>) => endsAt.toISOString().slice(0, 10)
const least = (days: DaysBefore, other: DaysBefore = days) => (days < other ? days : other)

/** What ends at one moment, and pays for the same, is one amount. */
function sumsOf(lots: readonly EndingLot[]) {
  const sums = new Map<string, { endsAt: string; micro: bigint; modelsOnly: boolean }>()
  for (const { endsAt, modelsOnly, leftMicro } of lots) {
    const at = endsAt.toISOString()
    const key = `${at} ${modelsOnly}`
    sums.set(key, { endsAt: at, modelsOnly, micro: (sums.get(key)?.micro ?? 0n) + leftMicro })
  }
  return [...sums.values()].map(({ micro, ...sum }) => ({ ...sum, leftMicro: micro.toString() }))
}
