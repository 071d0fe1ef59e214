import type { Readable } from 'node:stream'
import type { Currency, Language } from '@berth/contract/limits'
import { microDecimal } from '@berth/contract/money'
import { sql } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import { CSV_PAGE_ROWS, csvBody, harmless } from '../../../platform/csv-file.ts'
import type { Database } from '../../../platform/database/database.ts'
import { currencyOf } from '../ledger/wallet.ts'
import { inItsUnit } from '../meters/units.ts'
import { BILL_COLUMNS, BILL_HEADS, type BillColumn } from './bill-file-words.ts'
import { type BillQuery, daysOf } from './bills.ts'
import { transactionId } from './transactions.ts'
import { inSnapshot, type Snapshot, stretchesOf, usedPage } from './used.ts'

interface Deps {
  db: Database
  clock: Clock
}

/** What calls of models count, beside their main meter; of what is asked, `cached` is a part. */
const COUNTED = ['input', 'cached', 'output', 'image', 'video'] as const

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
  /** What a call of a model counted, by the ends of its meters' names; null for what is no call of one. */
  counted: Partial<Record<(typeof COUNTED)[number], number>> | null
}

/**
 * A month's usage as CSV: a row for each stretch and UTC day, oldest first.
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
  const body = csvBody<FileRow>({
    head: BILL_COLUMNS.map(column => BILL_HEADS[language][column]),
    first: rows,
    next: async last => (await readPage(deps, userId, query, last)).rows,
    cellsOf: row => cellsOf(row, currency),
  })
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
      ${usedPage(snapshot, { ...days, from: after.day }, { search, after, limit: CSV_PAGE_ROWS })}
    )
    select s.id as "intervalId", to_char(s.day, 'YYYY-MM-DD') as day, s.usage, s.subject_kind as "subjectKind",
      s.subject_id as "subjectId", s.subject_name as "subjectName", s.label, s.quantity, s.unit,
      s.unit_rate_micro as "unitRate", s.rate_micro as "rateMicro", s.rate_seconds as "rateSeconds",
      extract(epoch from s.begins) * 1000 as "fromMs", extract(epoch from s.ends) * 1000 as "untilMs",
      s.seconds, s.cash, s.credits, s.waived, k.counted
    from (${stretchesOf(snapshot, sql`used`, 'day')}) s
    left join lateral (
      select jsonb_object_agg(substring(m.sku from '[^.]*$'), m.quantity) as counted
      from usage_meter m where m.interval_id = s.id and s.subject_kind = 'model_call'
    ) k on true
    order by s.day, s.id`)
  return rows
}

/** Tokens that were asked are all of them, those in the cache too, as the log of calls has them. */
function countedOf({ counted }: FileRow): Record<(typeof COUNTED)[number], string> {
  const { input = 0, cached = 0, output = 0, image = 0, video = 0 } = counted ?? {}
  const all = { input: input + cached, cached, output, image, video }
  const cells = COUNTED.map(name => [name, counted === null ? '' : String(all[name])] as const)
  return Object.fromEntries(cells) as Record<(typeof COUNTED)[number], string>
}

function cellsOf(row: FileRow, currency: Currency): string[] {
  const amount = (BigInt(row.cash) + BigInt(row.credits)).toString()
  const cells: Record<BillColumn, string> = {
    day: row.day,
    kind: row.usage,
    resource: row.subjectKind,
    id: harmless(row.subjectId),
    name: harmless(row.subjectName),
    measured: harmless(row.label ?? ''),
    quantity: row.quantity === null ? '' : inItsUnit(row.quantity, row.unit ?? ''),
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
    ...countedOf(row),
  }
  return BILL_COLUMNS.map(column => cells[column])
}
