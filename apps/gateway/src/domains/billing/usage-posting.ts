import type { Currency } from '@berth/contract/limits'
import { and, eq, isNull } from 'drizzle-orm'
import type { Clock } from '../../platform/clock.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { Ids } from '../../platform/ids.ts'
import { customerAccounts, openHouseAccount, postTransfer } from './ledger.ts'
import { ledgerTransfer, usageInterval, walletHold } from './tables.ts'
import type { WalletTotals } from './wallet.ts'

export type Interval = typeof usageInterval.$inferSelect

type Deps = { clock: Clock; ids: Ids }
type Part = 'credits' | 'cash' | 'write_off'

/** How one posting is split. */
interface Split {
  creditsMicro: bigint
  cashMicro: bigint
  /** What the wallet could not pay. */
  waivedMicro: bigint
}

/**
 * Brings an interval's books to what is due: afterwards posted + waived = due. Less than before gives back, in
 * new entries. The caller holds the wallet's lock and read `purse` and `interval` under it.
 * @param input.dueMicro What the interval has cost from its start.
 */
export async function postUsage(
  tx: Transaction,
  deps: Deps,
  input: { purse: WalletTotals; interval: Interval; dueMicro: bigint },
): Promise<void> {
  const { purse, interval, dueMicro } = input
  const deltaMicro = dueMicro - interval.postedMicro - interval.waivedMicro
  if (deltaMicro === 0n) return
  const split =
    deltaMicro > 0n
      ? await payment(tx, purse, interval, deltaMicro)
      : negative(await refund(tx, interval, -deltaMicro))
  await post(tx, deps, purse.currency, interval, split)
}

/**
 * Splits what is due: first from what the instance has set aside, then from what is available, credits before
 * cash. What other instances have set aside is left alone, so that holds are always covered.
 */
async function payment(
  tx: Transaction,
  purse: WalletTotals,
  { userId, instanceId }: Interval,
  dueMicro: bigint,
): Promise<Split> {
  const open = and(
    eq(walletHold.userId, userId),
    eq(walletHold.instanceId, instanceId),
    isNull(walletHold.releasedAt),
  )
  const [held] = await tx.select().from(walletHold).where(open)
  const reserveMicro = held ? held.amountMicro - held.usedMicro : 0n
  const payableMicro = least(dueMicro, purse.availableMicro + reserveMicro)
  const fromReserveMicro = least(payableMicro, reserveMicro)
  if (held && fromReserveMicro > 0n) {
    await tx
      .update(walletHold)
      .set({ usedMicro: held.usedMicro + fromReserveMicro })
      .where(eq(walletHold.id, held.id))
  }
  const creditsMicro = least(payableMicro, purse.creditsMicro)
  return { creditsMicro, cashMicro: payableMicro - creditsMicro, waivedMicro: dueMicro - payableMicro }
}

/** Splits what is given back: the last that was taken first, so waived usage, then cash, then credits. */
async function refund(tx: Transaction, interval: Interval, amountMicro: bigint): Promise<Split> {
  const paidInCashMicro = await cashPaidMicro(tx, interval)
  const waivedMicro = least(amountMicro, interval.waivedMicro)
  const cashMicro = least(amountMicro - waivedMicro, paidInCashMicro)
  return { waivedMicro, cashMicro, creditsMicro: amountMicro - waivedMicro - cashMicro }
}

async function cashPaidMicro(tx: Transaction, { id, userId }: Interval): Promise<bigint> {
  const { cash } = customerAccounts(userId)
  const entries = await tx
    .select()
    .from(ledgerTransfer)
    .where(and(eq(ledgerTransfer.refId, id), eq(ledgerTransfer.kind, 'usage')))
  return entries.reduce((sum, entry) => {
    if (entry.fromAccount === cash) return sum + entry.amountMicro
    return entry.toAccount === cash ? sum - entry.amountMicro : sum
  }, 0n)
}

/** Writes the entries of one posting and the interval's new sums. Negative parts flow back. */
async function post(
  tx: Transaction,
  deps: Deps,
  currency: Currency,
  interval: Interval,
  split: Split,
): Promise<void> {
  const accounts = customerAccounts(interval.userId)
  const revenue = await openHouseAccount(tx, 'revenue', currency)
  const posting = interval.postings + 1
  const move = async (part: Part, payer: string, amountMicro: bigint) => {
    if (amountMicro === 0n) return
    const back = amountMicro < 0n
    await postTransfer(tx, deps, {
      key: `usage:${interval.id}:${posting}:${part}`,
      from: back ? revenue : payer,
      to: back ? payer : revenue,
      amountMicro: back ? -amountMicro : amountMicro,
      kind: part === 'write_off' ? 'write_off' : 'usage',
      refId: interval.id,
      userId: interval.userId,
    })
  }
  await move('credits', accounts.credits, split.creditsMicro)
  await move('cash', accounts.cash, split.cashMicro)
  if (split.waivedMicro !== 0n) {
    await move('write_off', await openHouseAccount(tx, 'write_off', currency), split.waivedMicro)
  }
  await tx
    .update(usageInterval)
    .set({
      postedMicro: interval.postedMicro + split.creditsMicro + split.cashMicro,
      waivedMicro: interval.waivedMicro + split.waivedMicro,
      postedAt: deps.clock.now(),
      postings: posting,
    })
    .where(eq(usageInterval.id, interval.id))
}

function negative({ creditsMicro, cashMicro, waivedMicro }: Split): Split {
  return { creditsMicro: -creditsMicro, cashMicro: -cashMicro, waivedMicro: -waivedMicro }
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
