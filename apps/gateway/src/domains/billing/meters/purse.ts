import type { Currency } from '@berth/contract/limits'
import type { Transaction } from '../../../platform/database/database.ts'
import { statement } from '../../../platform/database/statement.ts'
import { together } from '../../../platform/database/together.ts'
import { drawFrom, type Lot, readLotsOfMany } from '../credits/lots.ts'
import { least } from '../ledger/least.ts'
import type { Subject } from '../subject.ts'
import type { Interval, UsagePart } from './tables.ts'

/** Micro-units by where they come from: the customer's accounts, or nobody. Negative flows back. */
export type Split = Record<UsagePart, bigint>

/** What is set aside for a subject. */
export interface Hold {
  id: string
  leftMicro: bigint
  usedMicro: bigint
  /** Credits for models alone that are set aside beside that. */
  freeMicro: bigint
}

/** What a customer has in the books, while one posting after another takes from it. */
export interface Purse {
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
  /** What is set aside, by its subject's `nameOf`. */
  holds: Map<string, Hold>
}

/**
 * What the books have of a customer. The caller holds the wallet's lock, or only reads.
 * @throws Error where there is no such wallet.
 */
export async function readPurse(q: Transaction, userId: string): Promise<Purse> {
  const purse = (await readPurses(q, [userId])).get(userId)
  if (!purse) throw new Error('there is no such wallet')
  return purse
}

/** The same of many customers in two statements. @returns By user id; none where there is no wallet. */
export async function readPurses(q: Transaction, userIds: string[]): Promise<Map<string, Purse>> {
  const [wallets, lots] = await together([selectBooks(q, userIds), readLotsOfMany(q, userIds)])
  return new Map(wallets.map(books => [books.userId, purseOf(books, lots.get(books.userId) ?? [])]))
}

/** What the books have of a customer but lots: balances by account, and open holds; amounts are texts. */
interface Books {
  userId: string
  currency: Currency
  balances: { kind: string; micro: string }[]
  holds: Record<'id' | 'subjectKind' | 'subjectId' | 'amount' | 'used' | 'free', string>[]
}

const selectBooks = statement<Books>(
  'wallet_books',
  `select w.user_id as "userId", w.currency,
    (select coalesce(json_agg(json_build_object('kind', a.kind, 'micro', a.balance_micro::text)), '[]')
      from ledger_account a where a.user_id = w.user_id) as balances,
    (select coalesce(json_agg(json_build_object('id', h.id, 'subjectKind', h.subject_kind, 'subjectId', h.subject_id,
        'amount', h.amount_micro::text, 'used', h.used_micro::text, 'free', h.free_micro::text)), '[]')
      from wallet_hold h where h.user_id = w.user_id and h.released_at is null) as holds
  from wallet w where w.user_id = any($1::uuid[])`,
)

function purseOf({ userId, currency, balances, holds }: Books, lots: Lot[]): Purse {
  const held = holds.map(({ id, amount, used, free, ...subject }) => {
    const usedMicro = BigInt(used)
    const hold: Hold = { id, leftMicro: BigInt(amount) - usedMicro, usedMicro, freeMicro: BigInt(free) }
    return [nameOf(subject), hold] as const
  })
  const sum = (amounts: bigint[]) => amounts.reduce((total, amount) => total + amount, 0n)
  const restOf = (of: Lot[]) => sum(of.map(({ restMicro }) => restMicro))
  const freeMicro = restOf(lots.filter(({ modelsOnly }) => modelsOnly))
  return {
    userId,
    currency,
    creditsMicro:
      sum(balances.map(({ kind, micro }) => (kind === 'credits' ? BigInt(micro) : 0n))) - freeMicro,
    keptMicro: restOf(lots.filter(isKept)),
    freeMicro,
    lots,
    unheldMicro:
      sum(balances.map(({ micro }) => BigInt(micro))) -
      freeMicro -
      sum(held.map(([, { leftMicro }]) => leftMicro)),
    holds: new Map(held),
  }
}

function nameOf({ subjectKind, subjectId }: { subjectKind: string; subjectId: string }): string {
  return `${subjectKind} ${subjectId}`
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

/** Whether credits have ended that the books do not know of, or that are there for what was set aside alone. */
export function hasEnds({ lots }: Purse, now: Date): boolean {
  return lots.some(({ ended, endsAt }) => ended || (endsAt !== null && endsAt <= now))
}

/**
 * Makes what is left of subjects' holds available again, in memory alone.
 * @returns The holds' ids; none of a subject that nothing is set aside for.
 */
export function releaseInPurse(purse: Purse, subjects: readonly Subject[]): string[] {
  return subjects.flatMap(({ kind, id }) => {
    const name = nameOf({ subjectKind: kind, subjectId: id })
    const hold = purse.holds.get(name)
    if (!hold) return []
    purse.holds.delete(name)
    purse.unheldMicro += hold.leftMicro
    return [hold.id]
  })
}

/** Lets a stretch be paid from what is set aside for another subject, in memory alone; undefined: from its own alone. */
export function payFrom(purse: Purse, subject: Subject | undefined, interval: Interval): void {
  const hold = subject && purse.holds.get(nameOf({ subjectKind: subject.kind, subjectId: subject.id }))
  if (hold) purse.holds.set(nameOf(interval), hold)
}

/**
 * Takes what is due, in memory alone: first from what its subject has set aside, then from what is available, credits
 * before cash. What other subjects have set aside is left alone, so that holds are always covered. What models have used
 * is taken from the credits for models first, but for those that are set aside for another call.
 * @returns Where it comes from, the hold that it used, and what it used of which lots.
 */
export function takeFrom(
  purse: Purse,
  interval: Interval,
  dueMicro: bigint,
): { split: Split; held: Hold | null; uses: { grantId: string; micro: bigint }[] } {
  const held = purse.holds.get(nameOf(interval))
  const free = spendsFree(interval) ? least(dueMicro, freeFor(purse, held)) : 0n
  const reserveMicro = held?.leftMicro ?? 0n
  const payableMicro = least(dueMicro - free, purse.unheldMicro + reserveMicro)
  const fromReserveMicro = least(payableMicro, reserveMicro)
  const heldFree = least(free, held?.freeMicro ?? 0n)
  const usesHold = held !== undefined && fromReserveMicro + heldFree > 0n
  if (usesHold) {
    held.leftMicro -= fromReserveMicro
    held.usedMicro += fromReserveMicro
    held.freeMicro -= heldFree
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

/**
 * Credits for models that a call may use: those of its own hold, and what is set aside for none. Where some have ended that
 * were set aside, holds say more than there is, and each call still has its own.
 */
function freeFor({ freeMicro, holds }: Purse, own: Hold | undefined): bigint {
  // One that pays for other subjects stands there by their names, too.
  const others = new Set(holds.values())
  if (own) others.delete(own)
  const unheld = freeMicro - [...others].reduce((sum, hold) => sum + hold.freeMicro, 0n)
  const ownMicro = least(own?.freeMicro ?? 0n, freeMicro)
  return unheld > ownMicro ? unheld : ownMicro
}

const isKept = ({ modelsOnly, ended }: Lot) => !modelsOnly && ended

/** Calls of models, once they are counted, are what credits for models pay for. */
const spendsFree = ({ charge, subjectKind }: Interval) => charge === 'once' && subjectKind === 'model_call'
