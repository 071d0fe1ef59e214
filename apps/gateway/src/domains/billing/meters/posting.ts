import type { Currency } from '@berth/contract/limits'
import { and, asc, eq, isNull, sql } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import type { Ids } from '../../../platform/ids.ts'
import { customerAccounts, openHouseAccount, postTransfer } from '../ledger/ledger.ts'
import { ledgerAccount, walletHold } from '../ledger/tables.ts'
import { currencyOf, readTotals, type WalletTotals } from '../ledger/wallet.ts'
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

/** A wallet comes near its floor when what is available lasts no longer than this: several ticks. */
const NEAR_FLOOR_MS = 600_000
const DAY_MS = 86_400_000
/** Days that one posting is split into; what is older, after a year in which no gateway ran, counts for the first. */
const DAYS_SPLIT_MAX = 366

/** What a customer has in the books, while one posting after another takes from it. */
interface Purse {
  userId: string
  currency: Currency
  creditsMicro: bigint
  /** Neither set aside nor taken yet. */
  unheldMicro: bigint
  holds: { id: string; subject: Subject; leftMicro: bigint; usedMicro: bigint }[]
}

/**
 * Posts what is due by now on every open stretch of a customer. The caller holds the wallet's lock. Call it before
 * money comes in: what nobody could pay until then is waived, not taken from the new money.
 */
export async function postAll(tx: Transaction, deps: Deps, userId: string): Promise<void> {
  const open = await selectOpen(tx, userId)
  if (open.length === 0) return
  const purse = await readPurse(tx, userId)
  const now = deps.clock.now()
  for (const interval of open) {
    // A clock that stepped back gives nothing back while the stretch is open: it catches up.
    if (dueOf(interval, now) <= interval.postedMicro + interval.waivedMicro) continue
    await postInterval(tx, deps, { purse, interval, until: now })
  }
}

/** A customer's open stretches, in the order in which they are posted. */
export function selectOpen(tx: Transaction, userId: string): Promise<Interval[]> {
  return tx
    .select()
    .from(usageInterval)
    .where(and(eq(usageInterval.userId, userId), isNull(usageInterval.endedAt)))
    .orderBy(asc(usageInterval.startedAt), asc(usageInterval.id))
}

/**
 * Posts all where the wallet is near its floor: only there does the order of a posting and of what comes next matter.
 */
export async function postNearFloor(tx: Transaction, deps: Deps, userId: string): Promise<void> {
  if (isNearFloor(await readTotals(tx, deps.clock, userId))) await postAll(tx, deps, userId)
}

/** Whether something is due that a wallet can hardly pay, or cannot. */
export function isNearFloor(totals: WalletTotals): boolean {
  const { unpostedMicro, availableMicro, burnMicroPerHour } = totals
  return unpostedMicro > 0n && availableMicro * 3_600_000n <= burnMicroPerHour * BigInt(NEAR_FLOOR_MS)
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
  return {
    userId,
    currency: await currencyOf(tx, userId),
    creditsMicro: accounts.find(({ kind }) => kind === 'credits')?.balanceMicro ?? 0n,
    unheldMicro:
      sum(accounts.map(({ balanceMicro }) => balanceMicro ?? 0n)) -
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
 * What posting an open stretch now would book, by the moments that it would be booked at; nothing changes but `purse`,
 * which has less for the stretches that come after it. Less than what is in the books is nothing: the clock stepped back.
 */
export function foreseePosting(purse: Purse, interval: Interval, now: Date): { at: Date; split: Split }[] {
  if (dueOf(interval, now) <= interval.postedMicro + interval.waivedMicro) return []
  return piecesOf(interval, now, now).map(({ micro, at }) => ({
    at,
    split: takeFrom(purse, interval, micro).split,
  }))
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
 * other subjects have set aside is left alone, so that holds are always covered.
 */
async function take(tx: Transaction, purse: Purse, interval: Interval, dueMicro: bigint): Promise<Split> {
  const { split, held } = takeFrom(purse, interval, dueMicro)
  if (held) await tx.update(walletHold).set({ usedMicro: held.usedMicro }).where(eq(walletHold.id, held.id))
  return split
}

/** The same in memory alone. Gives the hold that was used, too. */
function takeFrom(
  purse: Purse,
  { subjectKind, subjectId }: Interval,
  dueMicro: bigint,
): { split: Split; held: Purse['holds'][number] | null } {
  const held = purse.holds.find(({ subject }) => subject.kind === subjectKind && subject.id === subjectId)
  const reserveMicro = held?.leftMicro ?? 0n
  const payableMicro = least(dueMicro, purse.unheldMicro + reserveMicro)
  const fromReserveMicro = least(payableMicro, reserveMicro)
  const usesHold = held !== undefined && fromReserveMicro > 0n
  if (usesHold) {
    held.leftMicro -= fromReserveMicro
    held.usedMicro += fromReserveMicro
  }
  const credits = least(payableMicro, purse.creditsMicro)
  purse.creditsMicro -= credits
  purse.unheldMicro -= payableMicro - fromReserveMicro
  const split = { credits, cash: payableMicro - credits, write_off: dueMicro - payableMicro }
  return { split, held: usesHold ? held : null }
}

/** Splits what is given back: the last that was taken first, so waived usage, then cash, then credits. */
function giveBack({ waivedMicro, cashMicro }: Interval, amountMicro: bigint): Split {
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
    await move('cash', split.cash, at)
    await move('write_off', split.write_off, at)
    sums.creditsMicro += split.credits
    sums.cashMicro += split.cash
    sums.waivedMicro += split.write_off
  }
  return { book, sums }
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
