import { LEDGER_SIDES, type Receipt, receipt } from '@berth/contract/billing'
import type { InstanceEventCode } from '@berth/contract/instance-codes'
import type { InstanceStatus } from '@berth/contract/instance-states'
import { eq, sql } from 'drizzle-orm'
import type { PaymentDriver } from '../../../drivers/payments/port.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { Database, Queryable } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { wireOf } from '../../../platform/http/wire.ts'
import { outageCredit } from '../credits/tables.ts'
import { customerAccounts, houseAccount } from '../ledger/ledger.ts'
import { dueOf } from '../meters/booking.ts'
import { PARTS_PER_MICRO } from '../meters/units.ts'
import {
  chargeOf,
  endOf,
  parseTransactionId,
  ratePerHour,
  readRows,
  secondsOf,
  type TransactionRow,
  toTransaction,
} from './transactions.ts'

const stretchOf = wireOf(receipt.shape.interval.unwrap())
const lineOf = wireOf(receipt.shape.lines.element)
const eventOf = wireOf(receipt.shape.events.element)

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
  const now = clock.now()
  const { rows } = await readRows(db, userId, parsed, { limit: 1, now })
  const row = rows[0]
  if (!row) throw new ApiError('not_found')
  return {
    transaction: toTransaction(row, now),
    interval: row.type === 'usage' && row.charge !== 'once' ? intervalOf(row, now) : null,
    lines: await readLines(deps, userId, row),
    events: await readEvents(deps, userId, row, now),
  }
}

function intervalOf(row: TransactionRow, now: Date): NonNullable<Receipt['interval']> {
  const stretch = chargeOf(row)
  const { startedAt, endedAt } = stretch
  return stretchOf({
    startedAt,
    endedAt,
    seconds: secondsOf(startedAt, endedAt ?? now),
    rateMicroPerHour: ratePerHour(row),
    carriedMicro: stretch.carriedParts / PARTS_PER_MICRO,
    dueMicro: dueOf(stretch, now),
    postedMicro: row.amount,
    waivedMicro: row.waived ?? 0n,
  })
}

/** Usage is read from its sums by day; a top-up or a credit has an entry or none, read from the ledger. */
async function readLines(deps: ReceiptDeps, userId: string, row: TransactionRow): Promise<Receipt['lines']> {
  const { rows } =
    row.type === 'usage'
      ? await usageLines(deps.db, userId, row)
      : await entryLines(deps.db, userId, row.refId)
  return rows.map(line =>
    lineOf({
      ...line,
      fromAccount: sideOf(line.from),
      toAccount: sideOf(line.to),
      platform: platformOf(line.from, deps.payments) ?? platformOf(line.to, deps.payments),
      amountMicro: line.amount,
    }),
  )
}

type Line = { date: string; from: string; to: string; entries: number; amount: string }

/** Credits before cash, what was waived after them, and what was given back last. */
function usageLines(db: Database, userId: string, { refId, currency }: TransactionRow) {
  const { cash, credits } = customerAccounts(userId)
  const revenue = houseAccount('revenue', currency)
  const writeOff = houseAccount('write_off', currency)
  return db.execute<Line>(sql`
    select date, case when back then ${revenue} else account end as from,
      case when back then account else ${revenue} end as to, entries, amount
    from (
      select to_char(day, 'YYYY-MM-DD') as date, back, entries, amount_micro as amount,
        case part when 'credits' then ${credits} when 'cash' then ${cash} else ${writeOff} end as account,
        case part when 'credits' then 0 when 'cash' then 1 else 2 end as place
      from usage_day where interval_id = ${refId} and user_id = ${userId}
    ) lines order by date, back, place`)
}

function entryLines(db: Database, userId: string, refId: string) {
  return db.execute<Line>(sql`
    select to_char(created_at at time zone 'UTC', 'YYYY-MM-DD') as date, from_account as from, to_account as to,
      1 as entries, amount_micro as amount
    from ledger_transfer where ref_id = ${refId} and user_id = ${userId} order by created_at, key`)
}

async function readEvents(
  { db, instanceEvents }: ReceiptDeps,
  userId: string,
  row: TransactionRow,
  now: Date,
): Promise<Receipt['events']> {
  if (row.subjectKind !== 'instance' || row.subjectId === null) return []
  const from = await beganAt(db, row)
  const events = await instanceEvents(db, {
    userId,
    instanceId: row.subjectId,
    from,
    to: endOf(row) ?? now,
  })
  return events.map(eventOf)
}

/** When what a row is about began: a stretch with its row, an outage before it was credited (B17). */
async function beganAt(db: Database, row: TransactionRow): Promise<Date> {
  if (row.type !== 'credit') return new Date(Number(row.atMs))
  const [outage] = await db
    .select({ startedAt: outageCredit.startedAt })
    .from(outageCredit)
    .where(eq(outageCredit.grantId, row.refId))
  return outage?.startedAt ?? new Date(Number(row.atMs))
}

/** Which side an account's id is: `user:…:cash` is `cash`, `house:clearing:testcard:USD` is `clearing`. */
function sideOf(id: string): (typeof LEDGER_SIDES)[number] {
  const [owner, second = '', third = ''] = id.split(':')
  const name = owner === 'user' ? third : second
  const side = LEDGER_SIDES.find(known => known === name)
  if (!side) throw new Error(`The ledger has an account of no known kind: ${id}`)
  return side
}

/** The name of the platform whose clearing account it is, for people; null for any other account. */
function platformOf(id: string, payments: ReceiptDeps['payments']): string | null {
  const [owner, kind, platform = ''] = id.split(':')
  if (owner !== 'house' || kind !== 'clearing') return null
  return payments.find(({ name }) => name === platform)?.display_name ?? platform
}
