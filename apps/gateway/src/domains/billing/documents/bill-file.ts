import { Readable } from 'node:stream'
import { CALL_TIMEOUT_MS, type Currency, type Language } from '@berth/contract/limits'
import { microDecimal } from '@berth/contract/money'
import { sql } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Database } from '../../../platform/database/database.ts'
import { currencyOf } from '../ledger/wallet.ts'
import { BILL_COLUMNS, BILL_HEADS, type BillColumn } from './bill-file-words.ts'
import { type BillQuery, daysOf } from './bills.ts'
import { transactionId } from './transactions.ts'
import { inSnapshot, type Snapshot, stretchesOf, usedPage } from './used.ts'

/** Rows that are read at once: some hundred kilobytes of text, so that memory stays flat however long the file is. */
const PAGE_ROWS = 1_000
/** Whoever reads nothing for so long is not waited for. */
const IDLE_MS = CALL_TIMEOUT_MS.download

interface Deps {
  db: Database
  clock: Clock
}

interface FileRow {
  intervalId: string
  day: string
  usage: string
  subjectKind: string
  subjectId: string
  subjectName: string
  label: string | null
  quantity: string | null
  unit: string | null
  unitRate: string | null
  rateMicro: string
  rateSeconds: number
  fromMs: string
  untilMs: string
  seconds: string
  cash: string
  credits: string
  waived: string
}

/**
 * A month's usage as CSV (RFC 4180): a row for each stretch and UTC day, oldest first. Each page is read when the one before
 * was taken, in a short transaction of its own, so that a slow reader holds nothing of the database.
 * @param language Of the head.
 * @returns What it is called, and its text; destroy it to end it.
 * @throws ApiError `not_found` without a wallet.
 */
export async function openBillFile(
  deps: Deps,
  userId: string,
  query: BillQuery,
  language: Language,
): Promise<{ name: string; body: Readable }> {
  const { currency, rows } = await readPage(deps, userId, query, null)
  const head = csvLine(BILL_COLUMNS.map(column => BILL_HEADS[language][column]))
  const first = head + rows.map(row => lineOf(row, currency)).join('')
  const body = Readable.from(pages(), { objectMode: false })

  async function* pages(): AsyncGenerator<string> {
    yield* waiting(first)
    let last = rows.at(-1)
    let isWhole = rows.length < PAGE_ROWS
    while (last && !isWhole) {
      const next = await readPage(deps, userId, query, last)
      last = next.rows.at(-1)
      isWhole = next.rows.length < PAGE_ROWS
      yield* waiting(next.rows.map(row => lineOf(row, currency)).join(''))
    }
  }
  async function* waiting(text: string): AsyncGenerator<string> {
    const timer = setTimeout(() => body.destroy(new Error('nobody reads this bill')), IDLE_MS)
    timer.unref()
    try {
      yield text
    } finally {
      clearTimeout(timer)
    }
  }
  // It may end before anybody listens.
  body.on('error', () => undefined)
  return { name: `usage-${query.month}.csv`, body }
}

/** Of the first page nothing comes before it. */
const NO_STRETCH = '00000000-0000-0000-0000-000000000000'

async function readPage(
  deps: Deps,
  userId: string,
  query: BillQuery,
  last: FileRow | null,
): Promise<{ currency: Currency; rows: FileRow[] }> {
  return await inSnapshot(deps, userId, async snapshot => ({
    currency: await currencyOf(snapshot.tx, userId),
    rows: await rowsAfter(snapshot, query, last),
  }))
}

async function rowsAfter(
  snapshot: Snapshot,
  { month, search }: BillQuery,
  last: FileRow | null,
): Promise<FileRow[]> {
  const days = daysOf(month)
  const after = { day: last?.day ?? days.from, intervalId: last?.intervalId ?? NO_STRETCH }
  const { rows } = await snapshot.tx.execute<FileRow & Record<string, unknown>>(sql`
    with used as materialized (
      ${usedPage(snapshot, { ...days, from: after.day }, { search, after, limit: PAGE_ROWS })}
    )
    select s.id as "intervalId", to_char(s.day, 'YYYY-MM-DD') as day, s.usage, s.subject_kind as "subjectKind",
      s.subject_id as "subjectId", s.subject_name as "subjectName", s.label, s.quantity, s.unit,
      s.unit_rate_micro as "unitRate", s.rate_micro as "rateMicro", s.rate_seconds as "rateSeconds",
      extract(epoch from s.begins) * 1000 as "fromMs", extract(epoch from s.ends) * 1000 as "untilMs",
      s.seconds, s.cash, s.credits, s.waived
    from (${stretchesOf(snapshot, sql`used`, 'day')}) s order by s.day, s.id`)
  return rows
}

function lineOf(row: FileRow, currency: Currency): string {
  const amount = (BigInt(row.cash) + BigInt(row.credits)).toString()
  const cells: Record<BillColumn, string> = {
    day: row.day,
    kind: row.usage,
    resource: row.subjectKind,
    id: harmless(row.subjectId),
    name: harmless(row.subjectName),
    measured: harmless(row.label ?? ''),
    quantity: row.quantity ?? '',
    unit: row.unit ?? '',
    unit_rate: row.unitRate === null ? '' : microDecimal(BigInt(row.unitRate)),
    rate: microDecimal(BigInt(row.rateMicro)),
    rate_seconds: String(row.rateSeconds),
    from: new Date(Number(row.fromMs)).toISOString(),
    until: new Date(Number(row.untilMs)).toISOString(),
    seconds: row.seconds,
    amount: microDecimal(BigInt(amount)),
    cash: microDecimal(BigInt(row.cash)),
    credits: microDecimal(BigInt(row.credits)),
    not_charged: microDecimal(BigInt(row.waived)),
    currency,
    receipt: transactionId('usage', row.intervalId),
  }
  return csvLine(BILL_COLUMNS.map(column => cells[column]))
}

/** A text that a spreadsheet would take for a formula is one no more: names are what people have typed. */
function harmless(text: string): string {
  return /^[=+\-@\t\r\n＝＋－＠]/.test(text) ? `'${text}` : text
}

/** A record of RFC 4180. */
function csvLine(cells: readonly string[]): string {
  const quoted = cells.map(cell => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell))
  return `${quoted.join(',')}\r\n`
}
