import type { Receipt } from '@berth/contract/billing'
import type { InstanceEventCode } from '@berth/contract/instance-codes'
import type { InstanceStatus } from '@berth/contract/instance-states'
import { usageDueMicro } from '@berth/contract/money'
import { and, count, eq, min, sql } from 'drizzle-orm'
import type { PaymentDriver } from '../../drivers/payments/port.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Database, Queryable } from '../../platform/database/database.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import { ledgerTransfer } from './tables.ts'
import {
  endOf,
  parseTransactionId,
  readRows,
  secondsOf,
  type TransactionRow,
  toTransaction,
} from './transactions.ts'

/** What happened to an instance, oldest first; the instances domain answers it. */
export type InstanceEventsReader = (
  q: Queryable,
  input: { userId: string; instanceId: string; from: Date; to: Date },
) => Promise<{ at: Date; status: InstanceStatus; code: InstanceEventCode; detail: string }[]>

interface ReceiptDeps {
  db: Database
  clock: Clock
  payments: readonly Pick<PaymentDriver, 'name' | 'display_name'>[]
  instanceEvents: InstanceEventsReader
}

/**
 * A transaction opened (B2): the stretch that was metered, the ledger's entries, the instance's state changes.
 * @throws ApiError `not_found`, the same for an unknown id and for another customer's (R6.4).
 */
export async function readReceipt(deps: ReceiptDeps, userId: string, id: string): Promise<Receipt> {
  const { db, clock } = deps
  const parsed = parseTransactionId(id)
  if (!parsed) throw new ApiError('not_found')
  const { rows } = await readRows(db, userId, parsed, { limit: 1, offset: 0 })
  const row = rows[0]
  if (!row) throw new ApiError('not_found')
  const now = clock.now()
  return {
    transaction: toTransaction(row, now),
    interval: row.type === 'usage' ? intervalOf(row, now) : null,
    lines: await readLines(deps, userId, row.ref_id),
    events: await readEvents(deps, userId, row, now),
  }
}

function intervalOf(row: TransactionRow, now: Date): NonNullable<Receipt['interval']> {
  const startedAt = new Date(Number(row.at_ms))
  const endedAt = endOf(row)
  const until = endedAt ?? now
  const rate = BigInt(row.rate ?? 0)
  return {
    started_at: startedAt.toISOString(),
    ended_at: endedAt?.toISOString() ?? null,
    seconds: secondsOf(startedAt, until),
    rate_micro_per_hour: rate.toString(),
    due_micro: usageDueMicro(until.getTime() - startedAt.getTime(), rate).toString(),
    posted_micro: row.amount,
    waived_micro: row.waived ?? '0',
  }
}

async function readLines(
  { db, payments }: ReceiptDeps,
  userId: string,
  refId: string,
): Promise<Receipt['lines']> {
  const day = sql<string>`to_char(${ledgerTransfer.createdAt} at time zone 'UTC', 'YYYY-MM-DD')`
  const rows = await db
    .select({
      date: day,
      from: ledgerTransfer.fromAccount,
      to: ledgerTransfer.toAccount,
      entries: count(),
      amount: sql<string>`sum(${ledgerTransfer.amountMicro})`,
    })
    .from(ledgerTransfer)
    .where(and(eq(ledgerTransfer.refId, refId), eq(ledgerTransfer.userId, userId)))
    .groupBy(day, ledgerTransfer.fromAccount, ledgerTransfer.toAccount)
    .orderBy(day, min(ledgerTransfer.createdAt), min(ledgerTransfer.key))
  return rows.map(row => ({
    date: row.date,
    from_account: accountName(row.from, payments),
    to_account: accountName(row.to, payments),
    entries: row.entries,
    amount_micro: row.amount,
  }))
}

async function readEvents(
  { db, instanceEvents }: ReceiptDeps,
  userId: string,
  row: TransactionRow,
  now: Date,
): Promise<Receipt['events']> {
  if (row.instance_id === null) return []
  const from = new Date(Number(row.at_ms))
  const events = await instanceEvents(db, {
    userId,
    instanceId: row.instance_id,
    from,
    to: endOf(row) ?? now,
  })
  return events.map(({ at, status, code, detail }) => ({ at: at.toISOString(), status, code, detail }))
}

/** An account's id for people: `user:…:cash` is `cash`, `house:clearing:testcard:USD` is `clearing: Test card`. */
function accountName(id: string, payments: ReceiptDeps['payments']): string {
  const [owner, second = '', third = ''] = id.split(':')
  if (owner === 'user') return third
  if (second === 'clearing') {
    return `clearing: ${payments.find(({ name }) => name === third)?.display_name ?? third}`
  }
  return second.replaceAll('_', '-')
}
