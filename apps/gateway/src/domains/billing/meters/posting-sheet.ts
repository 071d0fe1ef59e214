import type { Currency } from '@berth/contract/limits'
import type { Transaction } from '../../../platform/database/database.ts'
import { statement } from '../../../platform/database/statement.ts'
import { together } from '../../../platform/database/together.ts'
import type { Ids } from '../../../platform/ids.ts'
import { type LotUse, writeUses } from '../credits/lots.ts'
import {
  customerAccounts,
  type HouseKind,
  houseAccount,
  postTransfers,
  type Transfer,
} from '../ledger/ledger.ts'
import type { Hold, Purse, Split, takeFrom } from './purse.ts'
import type { Interval, UsagePart, usageDay } from './tables.ts'

/** What is booked of a stretch at a moment, where it comes from, and what it used. */
type Piece = { at: Date } & ReturnType<typeof takeFrom>

/** What is to be written of a stretch that is posted: its sums after it. */
interface Sums {
  id: string
  creditsMicro: bigint
  cashMicro: bigint
  waivedMicro: bigint
  postings: number
  postedUntil: Date
}

type Day = typeof usageDay.$inferInsert

/** Rows that one statement writes. */
const ROWS_AT_ONCE_MAX = 1_000
const PARTS: readonly UsagePart[] = ['credits', 'cash', 'write_off']

/**
 * What postings are to write, of any number of stretches and customers: it is gathered in memory and then written with
 * one set of statements, so that a stretch does not cost a set of its own.
 */
export interface Sheet {
  transfers: Transfer[]
  /** By stretch, day, part and direction. */
  days: Map<string, Day>
  /** By stretch and lot. */
  uses: Map<string, LotUse>
  /** Holds that were used, as they are after it, by id. */
  holds: Map<string, Pick<Hold, 'usedMicro' | 'freeMicro'>>
  /** By stretch. */
  sums: Map<string, Sums>
  /** Accounts of the house that the transfers name, by id. */
  houses: Map<string, { kind: HouseKind; currency: Currency }>
}

/** A sheet with nothing on it. */
export function createSheet(): Sheet {
  return {
    ...{ transfers: [], days: new Map(), uses: new Map() },
    ...{ holds: new Map(), sums: new Map(), houses: new Map() },
  }
}

/**
 * Notes what posting a stretch to a moment is to write.
 * @param pieces As they are booked; nothing is written for one of nothing.
 * @returns The number of its last posting.
 * @throws Error where the stretch is on the sheet already: what it has in the books is not known before that is written.
 */
export function noteOnSheet(
  sheet: Sheet,
  { purse, interval, until }: { purse: Purse; interval: Interval; until: Date },
  pieces: readonly Piece[],
): number {
  const { id } = interval
  if (sheet.sums.has(id)) throw new Error('a stretch is posted once at a time')
  const sum: Split = { credits: 0n, cash: 0n, write_off: 0n }
  let { postings } = interval
  for (const { at, split, held, uses } of pieces) {
    if (PARTS.every(part => split[part] === 0n)) continue
    postings += 1
    for (const part of PARTS) {
      noteMove(sheet, interval, { currency: purse.currency, posting: postings, part, micro: split[part], at })
      sum[part] += split[part]
    }
    if (held) sheet.holds.set(held.id, { usedMicro: held.usedMicro, freeMicro: held.freeMicro })
    for (const use of uses) noteUse(sheet, interval, use)
  }
  sheet.sums.set(id, {
    id,
    creditsMicro: interval.creditsMicro + sum.credits,
    cashMicro: interval.cashMicro + sum.cash,
    waivedMicro: interval.waivedMicro + sum.write_off,
    postings,
    postedUntil: until,
  })
  return postings
}

/** An entry, and what it adds to the day of its stretch. */
function noteMove(
  sheet: Sheet,
  { id, userId }: Interval,
  move: { currency: Currency; posting: number; part: UsagePart; micro: bigint; at: Date },
): void {
  const { currency, posting, part, micro, at } = move
  if (micro === 0n) return
  const back = micro < 0n
  const amountMicro = back ? -micro : micro
  const revenue = noteHouse(sheet, 'revenue', currency)
  const payer =
    part === 'write_off' ? noteHouse(sheet, 'write_off', currency) : customerAccounts(userId)[part]
  sheet.transfers.push({
    key: `usage:${id}:${posting}:${part}`,
    from: back ? revenue : payer,
    to: back ? payer : revenue,
    amountMicro,
    kind: part === 'write_off' ? 'write_off' : 'usage',
    refId: id,
    userId,
    at,
  })
  const day = at.toISOString().slice(0, 10)
  const name = `${id} ${day} ${part} ${back}`
  const known = sheet.days.get(name)
  sheet.days.set(name, {
    ...{ intervalId: id, userId, day, part, back },
    entries: (known?.entries ?? 0) + 1,
    amountMicro: (known?.amountMicro ?? 0n) + amountMicro,
  })
}

function noteHouse(sheet: Sheet, kind: HouseKind, currency: Currency): string {
  const id = houseAccount(kind, currency)
  sheet.houses.set(id, { kind, currency })
  return id
}

function noteUse(
  { uses }: Sheet,
  { id: intervalId, userId }: Interval,
  { grantId, micro }: { grantId: string; micro: bigint },
): void {
  const name = `${intervalId} ${grantId}`
  uses.set(name, { intervalId, grantId, userId, micro: (uses.get(name)?.micro ?? 0n) + micro })
}

/** Takes a stretch's sums off a sheet, for whoever writes the stretch itself. @returns None where nothing is posted of it. */
export function takeSums({ sums }: Sheet, { id }: Pick<Interval, 'id'>): Partial<Sums> {
  const found = sums.get(id)
  sums.delete(id)
  return found ?? {}
}

/**
 * Writes what is noted on a sheet. The caller holds the locks of all its customers' wallets, and read what it was made of
 * under them.
 */
export async function writeSheet(tx: Transaction, deps: { ids: Ids }, sheet: Sheet): Promise<void> {
  await together([
    postTransfers(tx, deps, sheet.transfers, sheet.houses),
    eachPart([...sheet.uses.values()], rows => writeUses(tx, rows)),
    eachPart([...sheet.days.values()], rows => writeDays(tx, rows)),
    eachPart([...sheet.holds], rows => writeHolds(tx, rows)),
    eachPart([...sheet.sums.values()], rows => writeSums(tx, rows)),
  ])
}

async function eachPart<Row>(
  rows: readonly Row[],
  write: (part: readonly Row[]) => Promise<void>,
): Promise<void> {
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE_MAX)
    await write(rows.slice(at, at + ROWS_AT_ONCE_MAX))
}

async function writeDays(tx: Transaction, days: readonly Day[]): Promise<void> {
  const rows = days.map(({ amountMicro, ...day }) => ({ ...day, micro: `${amountMicro}` }))
  await addToDays(tx, JSON.stringify(rows))
}

const addToDays = statement(
  'usage_days',
  `insert into usage_day (interval_id, user_id, day, part, back, entries, amount_micro)
  select "intervalId", "userId", "day", "part", "back", "entries", "micro"
  from json_to_recordset($1::json) as booked("intervalId" uuid, "userId" uuid, "day" date,
    "part" text, "back" boolean, "entries" int, "micro" bigint)
  on conflict (interval_id, day, part, back) do update set
    entries = usage_day.entries + excluded.entries, amount_micro = usage_day.amount_micro + excluded.amount_micro`,
)

async function writeHolds(
  tx: Transaction,
  holds: readonly (readonly [string, Pick<Hold, 'usedMicro' | 'freeMicro'>])[],
): Promise<void> {
  const rows = holds.map(([id, { usedMicro, freeMicro }]) => ({
    ...{ id, micro: `${usedMicro}`, free: `${freeMicro}` },
  }))
  await changeHolds(tx, JSON.stringify(rows))
}

const changeHolds = statement(
  'wallet_holds_used',
  `update wallet_hold h set used_micro = used.micro, free_micro = used.free
  from json_to_recordset($1::json) as used(id uuid, micro bigint, free bigint)
  where h.id = used.id`,
)

async function writeSums(tx: Transaction, sums: readonly Sums[]): Promise<void> {
  const rows = sums.map(({ id, creditsMicro, cashMicro, waivedMicro, postings, postedUntil }) => ({
    ...{ id, postings, credits: `${creditsMicro}`, cash: `${cashMicro}`, waived: `${waivedMicro}` },
    until: postedUntil.toISOString(),
  }))
  await changeSums(tx, JSON.stringify(rows))
}

const changeSums = statement(
  'usage_sums',
  `update usage_interval i set credits_micro = posted.credits, cash_micro = posted.cash,
    waived_micro = posted.waived, postings = posted.postings, posted_until = posted.until
  from json_to_recordset($1::json) as posted(id uuid, credits bigint, cash bigint,
    waived bigint, postings int, until timestamptz)
  where i.id = posted.id`,
)
