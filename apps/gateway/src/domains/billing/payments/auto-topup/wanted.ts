import { microFromCents } from '@berth/contract/money'
import type { PaymentDriver } from '../../../../drivers/payments/port.ts'
import type { Clock } from '../../../../platform/clock.ts'
import type { Transaction } from '../../../../platform/database/database.ts'
import { readTotals } from '../../ledger/wallet.ts'
import { whyNotCharged } from '../methods/chargeable.ts'
import { findSaved } from '../methods/stored.ts'
import type { paymentIntent } from '../tables.ts'
import { type AutoTopupRow, chargedCents, monthOf, readAuto } from './stored.ts'

interface Deps {
  clock: Clock
  payments: readonly PaymentDriver[]
}

/**
 * Whether a payment of auto top-up that is not charged yet would be begun as it is now (R3.9): it is on, charges the
 * same amount from the same method, and the balance is still below. One that was left open by a platform that did not
 * answer may be looked at hours later. Call it under the wallet's lock.
 * @param intent The payment, not charged, or canceled for that.
 */
export async function isStillWanted(
  tx: Transaction,
  deps: Deps,
  intent: typeof paymentIntent.$inferSelect,
): Promise<boolean> {
  const { userId, amountCents, methodId, currency, createdAt, state } = intent
  const row = await readAuto(tx, userId)
  if (!row?.enabled || row.amountCents !== amountCents) return false
  // It would count for a month that is over: what is needed now is begun anew, and counts for this one.
  if (monthOf(createdAt).from < monthOf(deps.clock.now()).from) return false
  const method = await findSaved(tx, userId, row.methodId)
  if (method === null || method.id !== methodId) return false
  if (whyNotCharged(deps, method, currency) !== null) return false
  if (!isBelow(await readTotals(tx, deps.clock, userId), row)) return false
  // What is canceled by now is not counted any more.
  const countedCents = state === 'canceled' ? 0 : amountCents
  const before = (await chargedCents(tx, userId, createdAt)) - countedCents
  return before + amountCents <= row.monthlyCapCents
}

/** Whether less is available than the customer has said, both in the wallet's currency. */
export function isBelow({ availableMicro }: { availableMicro: bigint }, row: AutoTopupRow): boolean {
  return availableMicro < microFromCents(row.thresholdCents)
}
