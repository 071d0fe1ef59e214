import type { Clock } from '../../../platform/clock.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import type { Ids } from '../../../platform/ids.ts'
import { returnToLots } from '../credits/lots.ts'
import { least } from '../ledger/least.ts'
import { createSheet, noteOnSheet, type Sheet, writeSheet } from './posting-sheet.ts'
import { endInPurse, type Purse, type Split, takeFrom } from './purse.ts'
import type { Interval } from './tables.ts'
import { costOf } from './units.ts'

interface Deps {
  clock: Clock
  ids: Ids
}

const DAY_MS = 86_400_000
/** Days that one posting is split into; what is older, after a year in which no gateway ran, counts for the first. */
const DAYS_SPLIT_MAX = 366

/**
 * What a stretch has cost at a moment, from its start.
 * @param until Where an open stretch is reckoned to.
 */
export function dueOf(
  interval: Pick<Interval, 'charge' | 'rateMicro' | 'rateSeconds' | 'carriedParts' | 'startedAt' | 'endedAt'>,
  until: Date,
): bigint {
  if (interval.charge === 'once') return interval.rateMicro
  const end = interval.endedAt ?? until
  return costOf(interval, end.getTime() - interval.startedAt.getTime(), interval.carriedParts)
}

/**
 * Brings a stretch's books to what is due at a moment: afterwards posted + waived = due. What is due for several UTC
 * days is posted for each of them, so that spending by day is exact; less than before gives back. The caller holds
 * the wallet's lock, and read `interval` and `purse` under it.
 */
export async function postInterval(
  tx: Transaction,
  deps: Deps,
  input: { purse: Purse; interval: Interval; until: Date },
): Promise<void> {
  const { purse, interval, until } = input
  const now = deps.clock.now()
  const sheet = createSheet()
  const lessMicro = interval.postedMicro + interval.waivedMicro - dueOf(interval, until)
  if (lessMicro <= 0n) return await writeSheet(tx, deps, notePosting(sheet, input, now))
  const split = giveBack(interval, lessMicro)
  const posting = noteOnSheet(sheet, input, [{ at: now, split, held: null, uses: [] }])
  await writeSheet(tx, deps, sheet)
  if (split.credits === 0n) return
  const { userId, id: intervalId } = interval
  const stretch = { userId, intervalId, currency: purse.currency, posting }
  await returnToLots(tx, deps, stretch, -split.credits)
}

/**
 * Brings the books of a customer's open stretches to what is due at a moment, in memory alone, none to before what is
 * posted: a clock that stepped back gives nothing back while a stretch is open, it catches up.
 * @param open In the order in which they are posted.
 * @param sheet What is to be written for it is noted there.
 */
export function notePostings(
  sheet: Sheet,
  { purse, open, until, now }: { purse: Purse; open: readonly Interval[]; until: Date; now: Date },
): void {
  for (const interval of open) {
    if (until < interval.startedAt) continue
    if (dueOf(interval, until) <= interval.postedMicro + interval.waivedMicro) continue
    notePosting(sheet, { purse, interval, until }, now)
  }
}

function notePosting(
  sheet: Sheet,
  input: { purse: Purse; interval: Interval; until: Date },
  now: Date,
): Sheet {
  const { purse, interval, until } = input
  noteOnSheet(
    sheet,
    input,
    piecesOf(interval, until, now).map(({ micro, at }) => ({ at, ...takeFrom(purse, interval, micro) })),
  )
  return sheet
}

/** What is due beyond what is in the books, split where UTC days end, and the moment that each piece is booked at. */
function piecesOf(interval: Interval, until: Date, now: Date): { micro: bigint; at: Date }[] {
  let bookedMicro = interval.postedMicro + interval.waivedMicro
  const byTime = interval.charge === 'by_time'
  const pieces = (byTime ? dayEnds(interval.postedUntil, until) : []).map(end => {
    const micro = dueOf(interval, end) - bookedMicro
    bookedMicro += micro
    return { micro, at: new Date(end.getTime() - 1) }
  })
  return [...pieces, { micro: dueOf(interval, until) - bookedMicro, at: byTime ? until : now }]
}

/**
 * What posting open stretches now would book, by the moments that it would be booked at, each end of credits at its own;
 * nothing changes but `purse`. Less than what is in the books is nothing: the clock stepped back.
 * @param open In the order in which they are posted.
 * @returns By the stretch's id; none for a stretch that nothing would be booked of.
 */
export function foreseePostings(
  purse: Purse,
  open: Interval[],
  now: Date,
): Map<string, { at: Date; split: Split }[]> {
  const foreseen = new Map<string, { at: Date; split: Split }[]>()
  const ends = purse.lots.flatMap(({ ended, endsAt }) =>
    ended || endsAt === null || endsAt > now ? [] : [+endsAt],
  )
  const posted = new Map(open.map(interval => [interval.id, interval]))
  const post = (until: Date) => {
    for (const interval of posted.values()) {
      if (until < interval.startedAt || dueOf(interval, until) <= interval.postedMicro + interval.waivedMicro)
        continue
      const booked = piecesOf(interval, until, now).map(({ micro, at }) => ({
        at,
        split: takeFrom(purse, interval, micro).split,
      }))
      foreseen.set(interval.id, [...(foreseen.get(interval.id) ?? []), ...booked])
      const sum = (part: (split: Split) => bigint) => booked.reduce((all, { split }) => all + part(split), 0n)
      posted.set(interval.id, {
        ...interval,
        postedMicro: interval.postedMicro + sum(({ credits, cash }) => credits + cash),
        waivedMicro: interval.waivedMicro + sum(({ write_off }) => write_off),
        postedUntil: until,
      })
    }
  }
  for (const atMs of [...new Set(ends)].sort((a, b) => a - b)) {
    post(new Date(atMs))
    endInPurse(purse, new Date(atMs))
  }
  post(now)
  return foreseen
}

/** The midnights in UTC after one moment and up to another, each the end of a day. */
function dayEnds(from: Date, until: Date): Date[] {
  const first = Math.floor(from.getTime() / DAY_MS) + 1
  const last = Math.floor(until.getTime() / DAY_MS)
  const days = Math.min(Math.max(0, last - first + 1), DAYS_SPLIT_MAX)
  return Array.from({ length: days }, (_, n) => new Date((last - days + 1 + n) * DAY_MS))
}

/** Splits what is given back: the last that was taken first, so waived usage, then cash, then credits. */
export function giveBack(
  { waivedMicro, cashMicro }: Pick<Interval, 'waivedMicro' | 'cashMicro'>,
  amountMicro: bigint,
): Split {
  const waived = least(amountMicro, waivedMicro)
  const cash = least(amountMicro - waived, cashMicro)
  return { write_off: -waived, cash: -cash, credits: -(amountMicro - waived - cash) }
}
