import type { Readable } from 'node:stream'
import type { Transaction } from '@berth/contract/billing'
import type { Language } from '@berth/contract/limits'
import { microDecimal } from '@berth/contract/money'
import type { Clock } from '../../../platform/clock.ts'
import { CSV_PAGE_ROWS, csvBody, harmless } from '../../../platform/csv-file.ts'
import type { Database } from '../../../platform/database/database.ts'
import { numberOf } from './invoices/make-invoice.ts'
import { TRANSACTION_COLUMNS, TRANSACTION_HEADS, type TransactionColumn } from './transaction-file-words.ts'
import type { TransactionFilter } from './transaction-filter.ts'
import { readRows, type TransactionRow, toTransaction } from './transactions.ts'

interface Deps {
  db: Database
  clock: Clock
}

/**
 * A customer's transactions as CSV, newest first: the rows that the list shows with the same filter, by the same query, as
 * they are at one moment.
 * @param language Of the head.
 * @param said Says what of a row is said in the reader's language.
 * @returns What it is called, and its text; destroy it to end it.
 */
export async function openTransactionFile(
  { db, clock }: Deps,
  userId: string,
  filter: TransactionFilter,
  { language, said }: { language: Language; said: (row: Transaction) => Transaction },
): Promise<{ name: string; body: Readable }> {
  const now = clock.now()
  const pageAfter = async (after: TransactionRow | null) =>
    (await readRows(db, userId, filter, { limit: CSV_PAGE_ROWS, now, after })).rows
  const body = csvBody<TransactionRow>({
    head: TRANSACTION_COLUMNS.map(column => TRANSACTION_HEADS[language][column]),
    first: await pageAfter(null),
    next: pageAfter,
    cellsOf: row => cellsOf(row, said(toTransaction(row, now))),
  })
  return { name: `transactions-${now.toISOString().slice(0, 10)}.csv`, body }
}

function cellsOf(row: TransactionRow, wire: Transaction): string[] {
  const { about } = wire
  const name = about.instance_name ?? about.volume_name ?? about.image_name ?? about.model_name ?? ''
  const state = stateOf(wire)
  const isBooked = state === 'settled' || row.type === 'usage'
  const amount = BigInt(wire.amount_micro) + (row.type === 'usage' ? BigInt(wire.pending_amount_micro) : 0n)
  const decimal = (micro: string) => microDecimal(BigInt(micro))
  const cells: Record<TransactionColumn, string> = {
    date: wire.date,
    type: wire.type,
    state,
    kind: about.usage ?? '',
    name: harmless(name),
    id: harmless(row.subjectId ?? ''),
    gpu: about.gpu_spec_name === null ? '' : harmless(`${about.gpu_count ?? 1}× ${about.gpu_spec_name}`),
    card: about.card === null ? '' : harmless(`${about.card.brand} ${about.card.last4}`.trim()),
    begun_by: about.origin ?? '',
    reason: harmless(about.failure ?? about.credit_reason ?? about.refund_reason ?? ''),
    seconds: about.seconds === null ? '' : String(about.seconds),
    rate: about.rate_micro_per_hour === null ? '' : decimal(about.rate_micro_per_hour),
    // What did not come, or is on its way, is no part of what the rows come to.
    amount: isBooked ? microDecimal(amount) : microDecimal(0n),
    cash: decimal(wire.cash_amount_micro),
    credits: decimal(wire.bonus_amount_micro),
    coupons: decimal(wire.coupon_amount_micro),
    attempted: isBooked ? '' : decimal(wire.amount_micro),
    currency: wire.currency,
    invoice:
      row.invoiceSeries === null || row.invoicePosition === null
        ? ''
        : numberOf({ series: row.invoiceSeries, position: row.invoicePosition }),
    receipt: wire.id,
  }
  return TRANSACTION_COLUMNS.map(column => cells[column])
}

/** As the filter calls it. */
function stateOf({ status, type }: Transaction): string {
  if (status !== 'failed') return status
  return type === 'refund' ? 'came_back' : 'not_charged'
}
