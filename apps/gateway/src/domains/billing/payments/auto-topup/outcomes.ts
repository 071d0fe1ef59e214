import type { Card } from '@berth/contract/billing'
import type { Currency } from '@berth/contract/limits'
import { AUTO_TOPUP_DECLINES_MAX, AUTO_TOPUP_PAUSE_HOURS } from '@berth/contract/limits'
import { eq } from 'drizzle-orm'
import type { PaymentDriver } from '../../../../drivers/payments/port.ts'
import type { Clock } from '../../../../platform/clock.ts'
import type { Transaction } from '../../../../platform/database/database.ts'
import type { Events } from '../../../../platform/events/events.ts'
import { autoTopupNews } from '../../events.ts'
import { isPaid } from '../intent-states.ts'
import type { paymentIntent } from '../tables.ts'
import { type AutoTopupRow, monthOf, readAuto } from './stored.ts'
import { autoTopup } from './tables.ts'
import { isStillWanted } from './wanted.ts'

interface Deps {
  clock: Clock
  events: Pick<Events, 'emit'>
}

/** What tells besides whether a payment is still wanted. */
type PaymentDeps = Deps & { payments: readonly PaymentDriver[] }

/**
 * What follows for auto top-up from one of its payments that has come to an end. Call it in the transaction that books
 * the end, under the wallet's lock, so that each refusal counts once, whoever finds it out.
 */
export async function noteAutoPayment(
  tx: Transaction,
  deps: PaymentDeps,
  intent: typeof paymentIntent.$inferSelect,
): Promise<void> {
  const { userId, state, currency, sourceBrand: brand, sourceLast4: last4 } = intent
  const row = await readAuto(tx, userId)
  if (row === null || intent.origin !== 'auto') return
  if (isPaid(state)) {
    await change(tx, userId, { ...CALM, halt: null })
    return
  }
  // It was ended because nobody wants it any more: nothing was refused.
  if (state === 'canceled' && !(await isStillWanted(tx, deps, intent))) return
  const failure = state === 'canceled' ? 'payment_canceled' : (intent.failure ?? 'payment_failed')
  await noteRefusal(tx, deps, row, { failure, currency, card: { brand, last4 } })
}

/** Nothing was refused of late. */
export const CALM = {
  declines: 0,
  nextTryAt: null,
  refusedAt: null,
  refusedFor: null,
  refusedBrand: null,
  refusedLast4: null,
} as const

/** Counts a refusal: tried again after a pause that grows, and no more after so many in a row; said by mail either way. */
export async function noteRefusal(
  tx: Transaction,
  deps: Deps,
  row: AutoTopupRow,
  { failure, currency, card }: { failure: string; currency: Currency; card: Card },
): Promise<void> {
  const now = deps.clock.now()
  const declines = row.declines + 1
  const isOver = declines >= AUTO_TOPUP_DECLINES_MAX
  const hours = AUTO_TOPUP_PAUSE_HOURS[Math.min(declines, AUTO_TOPUP_PAUSE_HOURS.length) - 1] ?? 1
  const nextTryAt = isOver ? null : new Date(now.getTime() + hours * 3_600_000)
  await change(tx, row.userId, {
    declines,
    nextTryAt,
    ...(isOver ? { enabled: false, halt: 'declined' } : { halt: null }),
    refusedAt: now,
    refusedFor: failure,
    refusedBrand: card.brand,
    refusedLast4: card.last4,
  })
  // One that was turned off in the meantime is not tried again: nothing is to be said of it.
  if (!row.enabled) return
  await deps.events.emit(tx, autoTopupNews, {
    userId: row.userId,
    at: now.toISOString(),
    news: isOver ? 'turned_off' : 'declined',
    amountCents: row.amountCents,
    capCents: row.monthlyCapCents,
    currency,
    card,
    failure,
    nextTryAt: nextTryAt?.toISOString() ?? null,
  })
}

/** Waits for the next month, by UTC: another charge would be more than the cap. Said by mail, once for each month. */
export async function noteCapped(
  tx: Transaction,
  deps: Deps,
  row: AutoTopupRow,
  { currency, card }: { currency: Currency; card: Card },
): Promise<void> {
  const now = deps.clock.now()
  const nextTryAt = monthOf(now).to
  await change(tx, row.userId, { halt: 'capped', nextTryAt })
  await deps.events.emit(tx, autoTopupNews, {
    userId: row.userId,
    at: now.toISOString(),
    news: 'capped',
    amountCents: row.amountCents,
    capCents: row.monthlyCapCents,
    currency,
    card,
    failure: null,
    nextTryAt: nextTryAt.toISOString(),
  })
}

async function change(tx: Transaction, userId: string, to: Partial<AutoTopupRow>): Promise<void> {
  await tx.update(autoTopup).set(to).where(eq(autoTopup.userId, userId))
}
