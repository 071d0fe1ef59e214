import {
  type Bill,
  type BillGroup,
  type BillLine,
  type BillStretch,
  billLine,
  billStretch,
  type getBillLine,
  type getBillMonths,
} from '@berth/contract/bills'
import type { CallData } from '@berth/contract/call'
import type { UsageKind } from '@berth/contract/usage-kinds'
import { type SQL, sql } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Database } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { wireOf } from '../../../platform/http/wire.ts'
import { currencyOf } from '../ledger/wallet.ts'
import type { SubjectFacts } from '../meters/tables.ts'
import { kindPlaceSql } from '../meters/usage-kinds.ts'
import type { Subject } from '../subject.ts'
import type { InstanceEventsReader } from './receipts.ts'
import { withCauses } from './stretch-causes.ts'
import { transactionId } from './transactions.ts'
import { type Days, inSnapshot, type Snapshot, stretchesOf, THING, usedByKind, usedRows } from './used.ts'

interface Deps {
  db: Database
  clock: Clock
}

/** Which usage is looked at. */
export interface BillQuery {
  /** Of UTC: `2026-11`. */
  month: string
  /** What a name or an id has in it. */
  search?: string | undefined
}

type LinesQuery = BillQuery & { group: BillGroup; page: number; page_size: number }

const lineOf = wireOf(billLine)
const subjectOf = wireOf(billLine.shape.subject.unwrap())
const stretchOf = wireOf(billStretch)
const meterOf = wireOf(billStretch.shape.meters.element)

type Sums = { cash: string; credits: string; waived: string }

type PartRow = Sums & { usage: UsageKind; stretches: number; seconds: number }

type LineRow = Sums & {
  key: string
  parts: PartRow[]
  stretches: string
  seconds: string
  fromMs: string
  untilMs: string
  goesOn: boolean
  subject: SubjectRow | null
}

type SubjectRow = {
  kind: Subject['kind']
  id: string
  name: string
  facts: SubjectFacts | null
}

/**
 * The months in which a customer used something, newest first, with what was charged: up to now, as the balance has it.
 * @throws ApiError `not_found` without a wallet.
 */
export async function readMonths(deps: Deps, userId: string): Promise<CallData<typeof getBillMonths>> {
  return await inSnapshot(deps, userId, async snapshot => {
    const { tx } = snapshot
    const currency = await currencyOf(tx, userId)
    const { rows } = await tx.execute<Sums & { month: string }>(sql`
      select to_char(month, 'YYYY-MM') as month, sum(cash) as cash, sum(credits) as credits, sum(waived) as waived
      from (select date_trunc('month', day) as month, cash, credits, waived from (${usedByKind(snapshot)}) used) found
      group by found.month order by found.month desc`)
    return { currency, months: rows.map(row => ({ month: row.month, ...amountsOf(row) })) }
  })
}

/**
 * A page of a month's bill, with the sums of all that was searched for. What is due and not posted counts as posted.
 * @throws ApiError `not_found` without a wallet.
 */
export async function readBill(deps: Deps, userId: string, query: LinesQuery): Promise<Bill> {
  return await inSnapshot(deps, userId, async snapshot => {
    const { month, page, page_size } = query
    const currency = await currencyOf(snapshot.tx, userId)
    const { lines, total, kinds } = await readLines(snapshot, query, null)
    const { opens, closes } = boundsOf(month)
    const until = new Date(Math.max(opens.getTime(), Math.min(closes.getTime(), snapshot.now.getTime())))
    return {
      month,
      from: opens.toISOString(),
      until: until.toISOString(),
      currency,
      sum: sumOf(kinds),
      kinds: kinds.map(partOf),
      items: lines.map(row => toLine(row, query.group)),
      total,
      page,
      page_size,
    }
  })
}

/**
 * A line of a bill opened. Its stretches, on all pages, come to the line's sums; what began and ended those of an
 * instance is asked from its own domain.
 * @throws ApiError `not_found` where the month has no such line, and the same for another customer's.
 */
export async function readBillLine(
  deps: Deps & { instanceEvents: InstanceEventsReader },
  userId: string,
  query: LinesQuery & { line: string },
): Promise<CallData<typeof getBillLine>> {
  return await inSnapshot(deps, userId, async snapshot => {
    const { page, page_size, line: key, group } = query
    const currency = await currencyOf(snapshot.tx, userId)
    const { lines } = await readLines(snapshot, { ...query, page: 1, page_size: 1 }, key)
    const line = lines[0]
    if (!line) throw new ApiError('not_found')
    const items = await withCauses(deps, snapshot, await readStretches(snapshot, query, key))
    return { currency, line: toLine(line, group), items, total: Number(line.stretches), page, page_size }
  })
}

/** The first moment of a month, and that of the next one. */
function boundsOf(month: string): { opens: Date; closes: Date } {
  const opens = new Date(`${month}-01T00:00:00.000Z`)
  const closes = new Date(opens)
  closes.setUTCMonth(closes.getUTCMonth() + 1)
  return { opens, closes }
}

/** The days of a month. */
export function daysOf(month: string): Days {
  const { opens, closes } = boundsOf(month)
  return { from: opens.toISOString().slice(0, 10), until: closes.toISOString().slice(0, 10) }
}

/** What makes lines of stretches, and how lines follow on each other. */
const GROUPS: Record<BillGroup, { key: SQL; order: SQL }> = {
  resource: { key: sql`s.subject_kind || ':' || s.subject_id`, order: sql`cash + credits desc, key` },
  day: { key: sql`to_char(s.day, 'YYYY-MM-DD')`, order: sql`key desc` },
  kind: { key: sql`s.usage`, order: kindPlaceSql(sql`key`) },
}

/** What lines are made of. No more: all stretches of a month are kept while their lines are. */
const FOR_LINES = sql`s.id, s.started_at, s.usage, s.seconds, s.cash, s.credits, s.waived, s.begins, s.ends, s.goes_on`

/** CTEs up to `stretch`: those of the month that were searched for, each with the `key` of its line. */
function stretchParts(
  snapshot: Snapshot,
  query: BillQuery & { group: BillGroup },
  key: string | null,
  columns: SQL,
): SQL {
  const { search, group } = query
  const days = daysOf(query.month)
  const byDay = group === 'day'
  const as = byDay ? {} : { as: sql`${days.from}::date` }
  return sql`
    used as (${usedRows(snapshot, days, { search, ...as })}),
    stretch as (
      select ${columns}, ${GROUPS[group].key} as key from (${stretchesOf(snapshot, sql`used`, byDay ? 'day' : 'month')}) s
      where ${key === null ? sql`true` : sql`${GROUPS[group].key} = ${key}`}
    )`
}

const PART_SUMS = sql`sum(seconds)::bigint as seconds, sum(cash) as cash, sum(credits) as credits,
  sum(waived) as waived, min(begins) as begins, max(ends) as ends, bool_or(goes_on) as goes_on`

async function readLines(
  snapshot: Snapshot,
  query: LinesQuery,
  key: string | null,
): Promise<{ lines: LineRow[]; total: number; kinds: PartRow[] }> {
  const { group, page, page_size } = query
  const json = sql`jsonb_build_object('usage', usage, 'stretches', stretches, 'seconds', seconds,
    'cash', cash::text, 'credits', credits::text, 'waived', waived::text)`
  const { rows } = await snapshot.tx.execute<
    Omit<LineRow, 'key'> & { key: string | null; total: string; kinds: PartRow[] | null }
  >(sql`
    with ${stretchParts(snapshot, query, key, FOR_LINES)},
    part as (select key, usage, count(*) as stretches, ${PART_SUMS} from stretch group by key, usage),
    line as (
      select key, jsonb_agg(${json} order by ${kindPlaceSql(sql`usage`)}) as parts, sum(stretches) as stretches,
        ${PART_SUMS}
      from part group by key
    ),
    kind as (
      select usage, sum(stretches)::bigint as stretches, ${PART_SUMS} from part group by usage
    ),
    page as (
      select line.*, row_number() over (order by ${GROUPS[group].order}) as place
      from line order by place limit ${page_size} offset ${(page - 1) * page_size}
    ),
    -- A thing is called as it was last.
    about as (
      select page.key, jsonb_build_object('kind', i.subject_kind, 'id', ${THING}, 'name', i.subject_name,
        'facts', i.subject_facts) as subject
      from page join (
        select distinct on (key) key, id from stretch order by key, started_at desc, id desc
      ) latest on latest.key = page.key
      join usage_interval i on i.id = latest.id
      where ${group === 'resource'}::boolean
    )
    select (select count(*) from line) as total,
      (select jsonb_agg(${json} order by ${kindPlaceSql(sql`usage`)}) from kind) as kinds,
      page.key, page.parts, page.stretches, page.seconds, page.cash, page.credits, page.waived,
      extract(epoch from page.begins) * 1000 as "fromMs", extract(epoch from page.ends) * 1000 as "untilMs",
      page.goes_on as "goesOn", about.subject
    from (select 1) one left join page on true left join about on about.key = page.key
    order by page.place`)
  return {
    // A page past the end still has one row, which carries what belongs to all of them.
    lines: rows.filter((row): row is typeof row & LineRow => row.key !== null),
    total: Number(rows[0]?.total ?? 0),
    kinds: rows[0]?.kinds ?? [],
  }
}

type StretchRow = Sums &
  Pick<BillStretch, 'usage' | 'charge'> & {
    id: string
    subject: SubjectRow
    seconds: string
    rateMicro: string
    rateSeconds: number
    startedMs: string
    endedMs: string | null
    fromMs: string
    untilMs: string
    goesOn: boolean
    meters: { label: string; unit: string; quantity: number; rateMicro: string }[] | null
  }

async function readStretches(snapshot: Snapshot, query: LinesQuery, key: string): Promise<BillStretch[]> {
  const { page, page_size } = query
  const { rows } = await snapshot.tx.execute<StretchRow>(sql`
    with ${stretchParts(snapshot, query, key, sql`s.*`)}
    select s.id, s.usage, s.charge, s.seconds, s.cash, s.credits, s.waived, s.rate_micro as "rateMicro",
      s.rate_seconds as "rateSeconds", extract(epoch from s.started_at) * 1000 as "startedMs",
      extract(epoch from s.ended_at) * 1000 as "endedMs", extract(epoch from s.begins) * 1000 as "fromMs",
      extract(epoch from s.ends) * 1000 as "untilMs", s.goes_on as "goesOn",
      jsonb_build_object('kind', s.subject_kind, 'id', s.subject_id, 'name', s.subject_name,
        'facts', s.subject_facts) as subject,
      (select jsonb_agg(jsonb_build_object('label', m.label, 'unit', m.unit, 'quantity', m.quantity,
        'rateMicro', m.rate_micro::text) order by m.position) from usage_meter m where m.interval_id = s.id) as meters
    from stretch s order by s.started_at desc, s.id desc
    limit ${page_size} offset ${(page - 1) * page_size}`)
  return rows.map(row =>
    stretchOf({
      ...row,
      ...inner(row),
      receiptId: transactionId('usage', row.id),
      subject: toSubject(row.subject),
      beganBy: null,
      endedBy: null,
      startedAt: momentOf(row.startedMs),
      endedAt: row.endedMs === null ? null : momentOf(row.endedMs),
      from: momentOf(row.fromMs),
      until: row.goesOn ? null : momentOf(row.untilMs),
      seconds: Number(row.seconds),
      meters: (row.meters ?? []).map(meterOf),
    }),
  )
}

function toLine(row: LineRow, group: BillGroup): BillLine {
  return lineOf({
    ...inner(row),
    id: row.key,
    subject: row.subject && toSubject(row.subject),
    date: group === 'day' ? row.key : null,
    usage: group === 'day' ? null : (row.parts[0]?.usage ?? null),
    parts: row.parts.map(partOf),
    stretches: Number(row.stretches),
    seconds: Number(row.seconds),
    from: momentOf(row.fromMs),
    until: row.goesOn ? null : momentOf(row.untilMs),
  })
}

function toSubject({ kind, id, name, facts }: SubjectRow) {
  return subjectOf({
    kind,
    id,
    name,
    gpuSpecName: facts?.gpu_spec_name ?? null,
    gpuCount: facts?.gpu_count ?? null,
    instanceName: facts?.instance_name ?? null,
  })
}

function partOf({ usage, stretches, seconds, ...sums }: PartRow): BillLine['parts'][number] {
  return { usage, stretches, seconds, ...amountsOf(sums) }
}

/** The sums of all kinds. */
function sumOf(kinds: readonly PartRow[]) {
  const sum = (of: keyof Sums) => kinds.reduce((all, kind) => all + BigInt(kind[of]), 0n).toString()
  return amountsOf({ cash: sum('cash'), credits: sum('credits'), waived: sum('waived') })
}

/** Sums under the names of columns. */
function inner({ cash, credits, waived }: Sums) {
  return {
    amountMicro: BigInt(cash) + BigInt(credits),
    cashMicro: cash,
    creditsMicro: credits,
    waivedMicro: waived,
  }
}

/** Sums on the wire. */
function amountsOf(sums: Sums) {
  const { amountMicro, cashMicro, creditsMicro, waivedMicro } = inner(sums)
  return {
    amount_micro: amountMicro.toString(),
    cash_micro: cashMicro,
    credits_micro: creditsMicro,
    waived_micro: waivedMicro,
  }
}

function momentOf(ms: string): Date {
  return new Date(Number(ms))
}
