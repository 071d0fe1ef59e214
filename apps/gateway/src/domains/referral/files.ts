import type { Readable } from 'node:stream'
import type { Language } from '@berth/contract/limits'
import { microDecimal } from '@berth/contract/money'
import type { Clock } from '../../platform/clock.ts'
import { CSV_PAGE_ROWS, csvBody, harmless } from '../../platform/csv-file.ts'
import type { Database } from '../../platform/database/database.ts'
import { ORDER_COLUMNS, ORDER_HEADS, RECORD_COLUMNS, RECORD_HEADS } from './file-words.ts'
import {
  type OrderFilter,
  type OrderRow,
  type RecordFilter,
  type RecordRow,
  readOrders,
  readRecords,
  showOrder,
  showRecord,
} from './lists.ts'
import type { Terms } from './terms.ts'

interface Deps {
  db: Database
  clock: Clock
  terms: Terms
}

interface OpenFile {
  name: string
  body: Readable
}

/** A customer's friends as CSV: the rows of the list with the same filter. Destroy the text to end it. */
export async function openRecordFile(
  { db, clock, terms }: Deps,
  userId: string,
  filter: RecordFilter,
  language: Language,
): Promise<OpenFile> {
  const next = (last: RecordRow | null) =>
    readRecords(db, userId, filter, {
      limit: CSV_PAGE_ROWS,
      after: last && { at: last.row.registeredAt, id: last.row.id },
    })
  const body = csvBody<RecordRow>({
    head: RECORD_COLUMNS.map(column => RECORD_HEADS[language][column]),
    first: await next(null),
    next,
    cellsOf(row) {
      const wire = showRecord(row, terms)
      const cells: Record<(typeof RECORD_COLUMNS)[number], string> = {
        user_email: harmless(wire.user_email ?? ''),
        registration_time: wire.registration_time,
        order_payment_time: wire.order_payment_time ?? '',
        order_amount: decimal(wire.order_amount_micro),
        quarter: filter.quarter,
        cash_payment_amount: decimal(wire.cash_payment_amount_micro),
        rebate_rate: `${wire.rebate_rate}`,
        rebate_amount: decimal(wire.rebate_amount_micro),
        currency: wire.currency,
        state: wire.state,
        reason: wire.state_reason ?? '',
      }
      return RECORD_COLUMNS.map(column => cells[column])
    },
  })
  return { name: `invited-users-${dayOf(clock)}.csv`, body }
}

/** What a customer earned for what as CSV: the rows of the list with the same filter. Destroy the text to end it. */
export async function openOrderFile(
  { db, clock }: Deps,
  userId: string,
  filter: OrderFilter,
  language: Language,
): Promise<OpenFile> {
  const next = (last: OrderRow | null) =>
    readOrders(db, userId, filter, {
      limit: CSV_PAGE_ROWS,
      after: last && { at: last.row.orderAt, id: last.row.id },
    })
  const body = csvBody<OrderRow>({
    head: ORDER_COLUMNS.map(column => ORDER_HEADS[language][column]),
    first: await next(null),
    next,
    cellsOf(row) {
      const wire = showOrder(row)
      const cells: Record<(typeof ORDER_COLUMNS)[number], string> = {
        order_payment_time: wire.order_payment_time,
        kind: wire.kind,
        user_email: harmless(wire.user_email ?? ''),
        registration_time: wire.registration_time,
        order_amount: decimal(wire.order_amount_micro),
        cash_payment_amount: decimal(wire.cash_payment_amount_micro),
        rebate_rate: wire.rebate_rate === null ? '' : `${wire.rebate_rate}`,
        rebate_amount: decimal(wire.rebate_amount_micro),
        currency: wire.currency,
        quarter: wire.quarter,
        state: wire.state,
      }
      return ORDER_COLUMNS.map(column => cells[column])
    },
  })
  return { name: `order-rewards-${dayOf(clock)}.csv`, body }
}

function decimal(micro: string | null): string {
  return micro === null ? '' : microDecimal(BigInt(micro))
}

function dayOf(clock: Clock): string {
  return clock.now().toISOString().slice(0, 10)
}
