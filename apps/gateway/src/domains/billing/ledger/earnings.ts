import type { Clock } from '../../../platform/clock.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import type { Ids } from '../../../platform/ids.ts'
import { openHouseAccount, postTransfer } from './ledger.ts'
import { lockWallet } from './wallet.ts'

interface Deps {
  clock: Clock
  ids: Ids
}

/** What a customer has earned by referring, or what of it is taken back. */
export interface Earning {
  /** Made from what it is for: once for each. */
  key: string
  /** Who earns it. */
  userId: string
  /** The reward that it is a part of. */
  rewardId: string
  /** Micro-units of the customer's wallet; negative where it is taken back, and never nothing. */
  amountMicro: bigint
}

/**
 * Books that the house owes a customer more, or less, of what referring earns, once for each key. It is no part of the
 * customer's balance before it is settled.
 */
export async function bookEarning(tx: Transaction, deps: Deps, earning: Earning): Promise<void> {
  const { key, userId, rewardId, amountMicro } = earning
  const { currency } = await lockWallet(tx, userId)
  const promotions = await openHouseAccount(tx, 'promotions', currency)
  const earnings = await openHouseAccount(tx, 'earnings', currency)
  const isBack = amountMicro < 0n
  await postTransfer(tx, deps, {
    key: `earning:${key}`,
    from: isBack ? earnings : promotions,
    to: isBack ? promotions : earnings,
    amountMicro: isBack ? -amountMicro : amountMicro,
    kind: 'earning',
    refId: rewardId,
    userId,
    at: deps.clock.now(),
  })
}

/** Money for a customer that is handed to whoever pays it. */
export interface PayoutEntry {
  payoutId: string
  userId: string
  /** What arrives, and what the house keeps of it. */
  netMicro: bigint
  feeMicro: bigint
}

/**
 * Books a payout when it is handed over, once for each: what arrives is owed no more, and the fee is given up by the
 * customer. With `back` it books that it did not arrive: all of it is owed again.
 */
export async function bookPayout(
  tx: Transaction,
  deps: Deps,
  { payoutId, userId, netMicro, feeMicro }: PayoutEntry,
  direction: 'out' | 'back' = 'out',
): Promise<void> {
  const { currency } = await lockWallet(tx, userId)
  const earnings = await openHouseAccount(tx, 'earnings', currency)
  const parts = [
    { name: 'paid', other: 'payouts', amountMicro: netMicro },
    { name: 'fee', other: 'promotions', amountMicro: feeMicro },
  ] as const
  for (const { name, other, amountMicro } of parts) {
    if (amountMicro === 0n) continue
    const house = await openHouseAccount(tx, other, currency)
    await postTransfer(tx, deps, {
      key: `payout:${payoutId}:${name}${direction === 'back' ? ':back' : ''}`,
      from: direction === 'out' ? earnings : house,
      to: direction === 'out' ? house : earnings,
      amountMicro,
      kind: 'payout',
      refId: payoutId,
      userId,
      at: deps.clock.now(),
    })
  }
}
