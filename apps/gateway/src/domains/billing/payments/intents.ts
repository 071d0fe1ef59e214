import { microFromCents } from '@berth/contract/money'
import { and, eq, inArray } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { PaymentDriver, PlatformIntent } from '../../../drivers/payments/port.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import type { Events } from '../../../platform/events/events.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Ids } from '../../../platform/ids.ts'
import { topUpPaid } from '../events.ts'
import { customerAccounts, openHouseAccount, postTransfer } from '../ledger/ledger.ts'
import { lockWallet } from '../ledger/wallet.ts'
import { postAll } from '../meters/posting.ts'
import { advance, isOpen, isPaid, OPEN_STATES, type Told } from './intent-states.ts'
import { bookRefund, repayOwed } from './refunds.ts'
import { paymentIntent } from './tables.ts'

export interface PaymentsDeps {
  db: Database
  clock: Clock
  ids: Ids
  log: Pick<Logger, 'warn' | 'error' | 'info'>
  payments: readonly PaymentDriver[]
  events: Pick<Events, 'emit'>
  /** The console's address, for platforms that send browsers back. */
  publicUrl(): string
}

export type Intent = typeof paymentIntent.$inferSelect

/** @throws ApiError `payment_platform_unknown`. */
export function driverOf({ payments }: Pick<PaymentsDeps, 'payments'>, platformName: string): PaymentDriver {
  const driver = payments.find(({ name }) => name === platformName)
  if (driver) return driver
  throw new ApiError('payment_platform_unknown', { fields: [{ path: 'platform_name', rule: 'not_allowed' }] })
}

/**
 * Carries an intent on as far as the platform lets it: makes it there, charges it, or looks at it; each step is
 * safe to repeat, and is booked before the next. Asks the platform outside any transaction.
 * @throws PaymentUnavailable when the platform did not answer: the row stays as it is.
 */
export async function carryOn(deps: PaymentsDeps, intent: Intent): Promise<Intent> {
  const driver = driverOf(deps, intent.platformName)
  let answer = await ask(driver, intent)
  if (answer.status === 'created') {
    // The platform's id is kept before it may charge.
    if (intent.platformIntentId === null) await book(deps, intent, answer)
    answer = await driver.confirm({
      intent_id: answer.intent_id,
      return_url: new URL(returnPath(intent), deps.publicUrl()).href,
    })
  }
  return await book(deps, intent, answer)
}

/** Where browsers come back to from a platform; the page asks the gateway what became of the payment. */
function returnPath({ id }: Pick<Intent, 'id'>): string {
  return `/payments?topup=t_${id}`
}

async function ask(driver: PaymentDriver, intent: Intent): Promise<PlatformIntent> {
  if (intent.platformIntentId !== null) return await driver.retrieve(intent.platformIntentId)
  return await driver.createIntent({
    reference: intent.id,
    amount_cents: intent.amountCents,
    currency: intent.currency,
    source: intent.source ?? '',
  })
}

/** Books an answer of the platform, in a transaction of its own. */
export async function book(
  deps: PaymentsDeps,
  { id, userId }: Pick<Intent, 'id' | 'userId'>,
  answer: PlatformIntent,
): Promise<Intent> {
  return await deps.db.transaction(async tx => {
    await lockWallet(tx, userId)
    return (await apply(tx, deps, id, answer)).intent
  })
}

/**
 * Joins what the platform told with what is known, and moves the money that follows from it, each part once. Whoever
 * comes later, or tells what is known already, finds what was booked. Call it under the wallet's lock.
 * @returns The intent as it is now, and whether anything was news.
 */
export async function apply(
  tx: Transaction,
  deps: PaymentsDeps,
  id: string,
  told: Told & { intent_id: string },
): Promise<{ intent: Intent; moved: boolean }> {
  const [row] = await tx.select().from(paymentIntent).where(eq(paymentIntent.id, id))
  if (!row) throw new Error(`payment ${id} is gone`)
  if (row.platformIntentId !== null && row.platformIntentId !== told.intent_id) {
    deps.log.error({ intentId: id, told: told.intent_id }, 'a platform told of a payment under another id')
    return { intent: row, moved: false }
  }
  const next = advance(row, told, row.amountCents)
  const moved = next.state !== row.state || next.refundsToldCents !== row.refundsToldCents
  if (!moved && row.platformIntentId !== null) return { intent: row, moved }
  const paid = isPaid(next.state)
  const [changed = row] = await tx
    .update(paymentIntent)
    .set({
      ...next,
      platformIntentId: told.intent_id,
      refundedCents: paid ? next.refundsToldCents : row.refundedCents,
      ...(isOpen(next.state) ? {} : { source: null, finishedAt: row.finishedAt ?? deps.clock.now() }),
    })
    .where(eq(paymentIntent.id, id))
    .returning()
  if (paid && !isPaid(row.state)) await credit(tx, deps, changed)
  if (changed.refundedCents > row.refundedCents) {
    await bookRefund(tx, deps, changed, { fromCents: row.refundedCents, toCents: changed.refundedCents })
  }
  return { intent: changed, moved }
}

/** Adds what was paid to the wallet, and sends the receipt; what is owed of earlier refunds goes off first. */
async function credit(tx: Transaction, deps: PaymentsDeps, intent: Intent): Promise<void> {
  const { id, userId, amountCents, currency, sourceLabel: paidWith } = intent
  // What ran before is posted first, so that what an empty wallet could not pay stays waived.
  await postAll(tx, deps, userId)
  await postTransfer(tx, deps, {
    key: `topup:${id}`,
    from: await openHouseAccount(tx, { clearing: intent.platformName }, currency),
    to: customerAccounts(userId).cash,
    amountMicro: microFromCents(amountCents),
    kind: 'topup',
    refId: id,
    userId,
    at: deps.clock.now(),
  })
  await repayOwed(tx, deps, userId)
  const at = (intent.finishedAt ?? deps.clock.now()).toISOString()
  // Of the transaction that books it, so that it is told once, whoever finishes it.
  await deps.events.emit(tx, topUpPaid, {
    userId,
    at,
    transactionId: `t_${id}`,
    amountCents,
    currency,
    paidWith,
  })
}

/** The condition that finds a customer's payments of which nothing is decided yet. */
export function isOpenOf(userId: string) {
  return and(eq(paymentIntent.userId, userId), inArray(paymentIntent.state, [...OPEN_STATES]))
}

/** Whether a customer has a payment of which it is not known yet if it was paid. */
export async function hasOpenTopup(tx: Transaction, userId: string): Promise<boolean> {
  const rows = await tx.select({ id: paymentIntent.id }).from(paymentIntent).where(isOpenOf(userId)).limit(1)
  return rows.length > 0
}
