import type { Currency } from '@berth/contract/limits'
import { and, eq, isNull, sql } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import type { Ids } from '../../../platform/ids.ts'
import { drawFrom, type Lot, readLots, returnToLots, writeUses } from '../credits/lots.ts'
import { least } from '../ledger/least.ts'
import { customerAccounts, openHouseAccount, postTransfer } from '../ledger/ledger.ts'
import { ledgerAccount, walletHold } from '../ledger/tables.ts'
import { currencyOf } from '../ledger/wallet.ts'
import type { Subject } from '../subject.ts'
import { usageDay, usageInterval } from './tables.ts'
import { costOf } from './units.ts'

export type Interval = typeof usageInterval.$inferSelect

interface Deps {
  clock: Clock
  ids: Ids
}

type Part = (typeof usageDay.$inferSelect)['part']

/** Micro-units by where they come from: the customer's accounts, or nobody. Negative flows back. */
type Split = Record<Part, bigint>

const DAY_MS = 86_400_000
/** Days that one posting is split into; what is older, after a year in which no gateway ran, counts for the first. */
const DAYS_SPLIT_MAX = 366

/** What a customer has in the books, while one posting after another takes from it. */
interface Purse {
  userId: string
  currency: Currency
  /** Credits for everything. */
  creditsMicro: bigint
  /** Of those, what has ended and is left for what was set aside alone. */
  keptMicro: bigint
  /** Credits for models alone, beside the others. */
  freeMicro: bigint
  lots: Lot[]
  /** Neither set aside nor taken yet. */
  unheldMicro: bigint
  holds: { id: string; subject: Subject; leftMicro: bigint; usedMicro: bigint }[]
}

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

/** What the books have of a customer. The caller holds the wallet's lock. */
export async function readPurse(tx: Transaction, userId: string): Promise<Purse> {
  const accounts = await tx.select().from(ledgerAccount).where(eq(ledgerAccount.userId, userId))
  const rows = await tx
    .select()
    .from(walletHold)
    .where(and(eq(walletHold.userId, userId), isNull(walletHold.releasedAt)))
  const holds = rows.map(({ id, subjectKind, subjectId, amountMicro, usedMicro }) => ({
    id,
    subject: { kind: subjectKind, id: subjectId },
    leftMicro: amountMicro - usedMicro,
    usedMicro,
  }))
  const sum = (amounts: bigint[]) => amounts.reduce((total, amount) => total + amount, 0n)
  const lots = await readLots(tx, userId)
  const restOf = (of: Lot[]) => sum(of.map(({ restMicro }) => restMicro))
  const freeMicro = restOf(lots.filter(({ modelsOnly }) => modelsOnly))
  return {
    userId,
    currency: await currencyOf(tx, userId),
    creditsMicro:
      sum(accounts.map(({ kind, balanceMicro }) => (kind === 'credits' && balanceMicro) || 0n)) - freeMicro,
    keptMicro: restOf(lots.filter(isKept)),
    freeMicro,
    lots,
    unheldMicro:
      sum(accounts.map(({ balanceMicro }) => balanceMicro ?? 0n)) -
      freeMicro -
      sum(holds.map(({ leftMicro }) => leftMicro)),
    holds,
  }
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
  const before = interval.postedMicro + interval.waivedMicro
  const dueMicro = dueOf(interval, until)
  const { book, sums } = createBooking(tx, deps, purse, interval)
  if (dueMicro < before) {
    await book(giveBack(interval, before - dueMicro), deps.clock.now())
  } else {
    for (const { micro, at } of piecesOf(interval, until, deps.clock.now())) {
      await book(await take(tx, purse, interval, micro), at)
    }
  }
  await tx
    .update(usageInterval)
    .set({ ...sums, postedUntil: until })
    .where(eq(usageInterval.id, interval.id))
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

/**
 * Ends, in memory alone, the lots whose end is at a moment: what nobody has used is the house's again, but for what is set
 * aside for something, which stays for that alone (R3.8).
 * @returns What of which lot ends.
 */
export function endInPurse(purse: Purse, at: Date): { grantId: string; micro: bigint }[] {
  return purse.lots
    .filter(({ ended, endsAt }) => !ended && endsAt?.getTime() === at.getTime())
    .map(lot => {
      const micro = lot.modelsOnly ? lot.restMicro : least(lot.restMicro, purse.unheldMicro)
      lot.restMicro -= micro
      lot.ended = true
      if (lot.modelsOnly) {
        purse.freeMicro -= micro
      } else {
        purse.unheldMicro -= micro
        purse.creditsMicro -= micro
        purse.keptMicro += lot.restMicro
      }
      return { grantId: lot.id, micro }
    })
}

/** The midnights in UTC after one moment and up to another, each the end of a day. */
function dayEnds(from: Date, until: Date): Date[] {
  const first = Math.floor(from.getTime() / DAY_MS) + 1
  const last = Math.floor(until.getTime() / DAY_MS)
  const days = Math.min(Math.max(0, last - first + 1), DAYS_SPLIT_MAX)
  return Array.from({ length: days }, (_, n) => new Date((last - days + 1 + n) * DAY_MS))
}

/**
 * Takes what is due: first from what its subject has set aside, then from what is available, credits before cash. What
 * other subjects have set aside is left alone, so that holds are always covered. What models have used is taken from
 * the credits for models first.
 */
async function take(tx: Transaction, purse: Purse, interval: Interval, dueMicro: bigint): Promise<Split> {
  const { split, held, uses } = takeFrom(purse, interval, dueMicro)
  if (held) await tx.update(walletHold).set({ usedMicro: held.usedMicro }).where(eq(walletHold.id, held.id))
  await writeUses(tx, { userId: purse.userId, intervalId: interval.id }, uses)
  return split
}

/** The same in memory alone. Gives the hold and the lots that were used, too. */
function takeFrom(purse: Purse, interval: Interval, dueMicro: bigint) {
  const free = spendsFree(interval) ? least(dueMicro, purse.freeMicro) : 0n
  const held = purse.holds.find(
    ({ subject }) => subject.kind === interval.subjectKind && subject.id === interval.subjectId,
  )
  const reserveMicro = held?.leftMicro ?? 0n
  const payableMicro = least(dueMicro - free, purse.unheldMicro + reserveMicro)
  const fromReserveMicro = least(payableMicro, reserveMicro)
  const usesHold = held !== undefined && fromReserveMicro > 0n
  if (usesHold) {
    held.leftMicro -= fromReserveMicro
    held.usedMicro += fromReserveMicro
  }
  // What has ended pays for what was set aside, and for nothing else.
  const kept = least(fromReserveMicro, purse.keptMicro)
  const common = least(payableMicro - kept, purse.creditsMicro - purse.keptMicro)
  purse.freeMicro -= free
  purse.keptMicro -= kept
  purse.creditsMicro -= kept + common
  purse.unheldMicro -= payableMicro - fromReserveMicro
  const { lots } = purse
  const uses = [
    ...drawFrom(
      lots.filter(({ modelsOnly }) => modelsOnly),
      free,
    ),
    ...drawFrom(lots.filter(isKept), kept),
    ...drawFrom(
      lots.filter(lot => !lot.modelsOnly && !lot.ended),
      common,
    ),
  ]
  const credits = free + kept + common
  const split: Split = {
    credits,
    cash: payableMicro - kept - common,
    write_off: dueMicro - free - payableMicro,
  }
  return { split, held: usesHold ? held : null, uses }
}

const isKept = ({ modelsOnly, ended }: Lot) => !modelsOnly && ended

/** Calls of models, once they are counted, are what credits for models pay for. */
const spendsFree = ({ charge, subjectKind }: Interval) => charge === 'once' && subjectKind === 'model_call'

/** Splits what is given back: the last that was taken first, so waived usage, then cash, then credits. */
export function giveBack(
  { waivedMicro, cashMicro }: Pick<Interval, 'waivedMicro' | 'cashMicro'>,
  amountMicro: bigint,
): Split {
  const waived = least(amountMicro, waivedMicro)
  const cash = least(amountMicro - waived, cashMicro)
  return { write_off: -waived, cash: -cash, credits: -(amountMicro - waived - cash) }
}

/**
 * Writes the entries of one stretch.
 * @returns `book` writes a split for a moment; `sums` are the stretch's own after all of them.
 */
function createBooking(tx: Transaction, deps: Deps, purse: Purse, interval: Interval) {
  const sums = {
    creditsMicro: interval.creditsMicro,
    cashMicro: interval.cashMicro,
    waivedMicro: interval.waivedMicro,
    postings: interval.postings,
  }
  async function move(part: Part, amount: bigint, at: Date): Promise<void> {
    if (amount === 0n) return
    const { userId, id } = interval
    const back = amount < 0n
    const amountMicro = back ? -amount : amount
    const revenue = await openHouseAccount(tx, 'revenue', purse.currency)
    const payer =
      part === 'write_off'
        ? await openHouseAccount(tx, 'write_off', purse.currency)
        : customerAccounts(userId)[part]
    await postTransfer(tx, deps, {
      key: `usage:${id}:${sums.postings}:${part}`,
      from: back ? revenue : payer,
      to: back ? payer : revenue,
      amountMicro,
      kind: part === 'write_off' ? 'write_off' : 'usage',
      refId: id,
      userId,
      at,
    })
    await tx
      .insert(usageDay)
      .values({
        intervalId: id,
        userId,
        day: at.toISOString().slice(0, 10),
        part,
        back,
        entries: 1,
        amountMicro,
      })
      .onConflictDoUpdate({
        target: [usageDay.intervalId, usageDay.day, usageDay.part, usageDay.back],
        set: {
          entries: sql`${usageDay.entries} + 1`,
          amountMicro: sql`${usageDay.amountMicro} + ${amountMicro}`,
        },
      })
  }
  async function book(split: Split, at: Date): Promise<void> {
    if (split.credits === 0n && split.cash === 0n && split.write_off === 0n) return
    sums.postings += 1
    await move('credits', split.credits, at)
    if (split.credits < 0n) {
      const { userId, id: intervalId } = interval
      const stretch = { userId, intervalId, currency: purse.currency, posting: sums.postings }
      await returnToLots(tx, deps, stretch, -split.credits)
    }
    await move('cash', split.cash, at)
    await move('write_off', split.write_off, at)
    sums.creditsMicro += split.credits
    sums.cashMicro += split.cash
    sums.waivedMicro += split.write_off
  }
  return { book, sums }
}
