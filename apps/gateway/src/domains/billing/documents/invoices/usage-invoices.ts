import { INVOICE_LINES, type InvoiceLine } from '@berth/contract/invoices'
import { centsFloor } from '@berth/contract/money'
import { desc, sql } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { Database, Transaction } from '../../../../platform/database/database.ts'
import { currencyOf, lockWallet } from '../../ledger/wallet.ts'
import { postAll } from '../../meters/posting.ts'
import { usageDay } from '../../meters/tables.ts'
import { type InvoiceDeps, makeInvoice } from './make-invoice.ts'
import { invoice, invoiceMonth } from './tables.ts'

export type JobDeps = InvoiceDeps & { db: Database; log: Pick<Logger, 'error' | 'info'> }

/** Customers who are looked at in one go. */
const CUSTOMERS_PAGE = 100
/** Months of one round: what a gateway that was away for longer leaves for the next. */
const MONTHS_PER_ROUND_MAX = 24

/**
 * Makes the invoices for usage of months that have ended, one for each customer and month (B23). Whoever fails is
 * logged; their month stays open and is tried again at the next round.
 * @returns How many customers it looked at.
 */
export async function invoiceMonths(deps: JobDeps, signal?: AbortSignal): Promise<number> {
  let looked = 0
  for (const month of await openMonths(deps)) {
    let after: string | null = null
    let failed = false
    for (;;) {
      const page: string[] = await customersUntil(deps.db, month, after)
      for (const userId of page) {
        if (signal?.aborted) return looked
        after = userId
        looked += 1
        try {
          await deps.db.transaction(tx => invoiceMonthOf(tx, deps, userId, month))
        } catch (error) {
          failed = true
          deps.log.error({ err: error, userId, month }, "a month's invoice could not be made")
        }
      }
      if (page.length < CUSTOMERS_PAGE) break
    }
    // Numbers and sums go by months: a later one waits for those before it.
    if (failed) return looked
    await deps.db.insert(invoiceMonth).values({ month, doneAt: deps.clock.now() }).onConflictDoNothing()
  }
  return looked
}

/**
 * Months that have ended and are not done, oldest first, from the first in which anything was used: what runs may not be
 * posted yet, and its customer's invoice posts it.
 */
async function openMonths({ db, clock }: JobDeps): Promise<string[]> {
  const [last] = await db.select().from(invoiceMonth).orderBy(desc(invoiceMonth.month)).limit(1)
  const first = last ? nextMonth(last.month) : await firstMonth(db)
  const current = `${clock.now().toISOString().slice(0, 7)}-01`
  const months: string[] = []
  for (let month = first; month && month < current; month = nextMonth(month)) {
    months.push(month)
    if (months.length === MONTHS_PER_ROUND_MAX) break
  }
  return months
}

async function firstMonth(db: Database): Promise<string | null> {
  const { rows } = await db.execute<{ month: string | null }>(sql`
    select to_char(least((select min(day) from usage_day),
      (select min(started_at at time zone 'UTC')::date from usage_interval)), 'YYYY-MM-01') as month`)
  return rows[0]?.month ?? null
}

/** The first day of the month after. */
function nextMonth(month: string): string {
  const at = new Date(`${month}T00:00:00.000Z`)
  at.setUTCMonth(at.getUTCMonth() + 1)
  return at.toISOString().slice(0, 10)
}

/**
 * Customers for whom anything was used, or runs and may not be posted yet.
 */
async function customersUntil(db: Database, month: string, after: string | null): Promise<string[]> {
  const later = after === null ? sql`` : sql` and user_id > ${after}`
  const { rows } = await db.execute<{ user_id: string }>(sql`
    select user_id from (
      select user_id from usage_day where day >= ${month}::date and day < ${nextMonth(month)}::date${later}
      union select user_id from usage_interval where ended_at is null and started_at < ${nextMonth(month)}::date${later}
    ) used order by user_id limit ${CUSTOMERS_PAGE}`)
  return rows.map(row => row.user_id)
}

/**
 * One customer's invoice for a month; none where nothing was used. What it says in cents is what the sum of all usage,
 * rounded down, has grown by since the invoice before: a month's parts of a cent are in the next one, and all of them
 * add up to what was used.
 */
async function invoiceMonthOf(tx: Transaction, deps: JobDeps, userId: string, month: string): Promise<void> {
  await lockWallet(tx, userId)
  // What ran over the month's end is posted up to now, split by day: nothing of the month comes later.
  await postAll(tx, deps, userId)
  const [before] = await tx
    .select({ toMicro: invoice.toMicro, month: invoice.month })
    .from(invoice)
    .where(sql`${invoice.userId} = ${userId} and ${invoice.kind} = 'usage'`)
    .orderBy(desc(invoice.month))
    .limit(1)
  if (before?.month != null && before.month >= month) return
  const from = before?.month == null ? null : nextMonth(before.month)
  const used = await readUsed(tx, userId, from, nextMonth(month))
  const fromMicro = before?.toMicro ?? 0n
  const toMicro = used.reduce((sum, { micro }) => sum + micro, fromMicro)
  const amountCents = centsFloor(toMicro) - centsFloor(fromMicro)
  // Less than a cent, or more given back than used: the next month's invoice begins here.
  if (amountCents <= 0) return
  const creditsMicro = used.reduce((sum, { credits }) => sum + credits, 0n)
  const creditsCents = centsFloor(creditsMicro < 0n ? 0n : creditsMicro)
  await makeInvoice(tx, deps, {
    ...{ key: `usage:${userId}:${month}`, userId, kind: 'usage', refId: null, amountCents },
    currency: await currencyOf(tx, userId),
    lines: linesOf(used, fromMicro),
    creditsCents: Math.min(creditsCents, amountCents),
    usage: { month, fromMicro, toMicro },
  })
}

interface Used {
  what: InvoiceLine
  micro: bigint
  credits: bigint
}

/** What was used in a span of days, by kind, in the order in which it is printed. */
async function readUsed(tx: Transaction, userId: string, from: string | null, to: string): Promise<Used[]> {
  const since = from === null ? sql`` : sql` and d.day >= ${from}::date`
  const { rows } = await tx.execute<{ kind: string; micro: string; credits: string }>(sql`
    select i.subject_kind as kind, sum(case when d.back then -d.amount_micro else d.amount_micro end) as micro,
      coalesce(sum(case when d.back then -d.amount_micro else d.amount_micro end)
        filter (where d.part = 'credits'), 0) as credits
    from ${usageDay} d join usage_interval i on i.id = d.interval_id
    where d.user_id = ${userId} and d.part <> 'write_off' and d.day < ${to}::date${since}
    group by 1`)
  return rows
    .map(({ kind, micro, credits }) => ({
      what: INVOICE_LINES.find(what => what === kind) ?? 'other',
      micro: BigInt(micro),
      credits: BigInt(credits),
    }))
    .sort((a, b) => INVOICE_LINES.indexOf(a.what) - INVOICE_LINES.indexOf(b.what))
}

/** Lines in cents that add up: each is what the rounded sum grows by with it. */
function linesOf(used: Used[], fromMicro: bigint): { what: InvoiceLine; amount: number }[] {
  let sum = fromMicro
  return used
    .map(({ what, micro }) => {
      const before = centsFloor(sum)
      sum += micro
      return { what, amount: centsFloor(sum) - before }
    })
    .filter(({ amount }) => amount !== 0)
}
