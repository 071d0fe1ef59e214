import { PAYMENT_METHODS_PER_USER_MAX } from '@berth/contract/limits'
import { eq } from 'drizzle-orm'
import type { Clock } from '../../../../platform/clock.ts'
import type { Transaction } from '../../../../platform/database/database.ts'
import type { Ids } from '../../../../platform/ids.ts'
import { isPaid } from '../intent-states.ts'
import type { paymentIntent } from '../tables.ts'
import { CHECKOUT_SOURCE, isKeptOf } from './stored.ts'
import { paymentMethod } from './tables.ts'

/**
 * What follows for saved methods from a payment that has come to an end: what was entered for it is kept where the
 * customer said so and it was paid, and a saved one remembers how it went. Call it in the transaction that books the
 * end, under the wallet's lock, so that it happens once.
 * @param source What was charged, which the payment's row has lost by now: as the platform named it, or as it was entered.
 */
export async function noteMethodOfPayment(
  tx: Transaction,
  { clock, ids }: { clock: Clock; ids: Ids },
  intent: typeof paymentIntent.$inferSelect,
  source: string | null,
): Promise<void> {
  const { methodId, state, userId } = intent
  if (methodId !== null && state !== 'canceled') {
    const refused = isPaid(state)
      ? { refusedAt: null, refusedFor: null }
      : { refusedAt: clock.now(), refusedFor: intent.failure }
    await tx.update(paymentMethod).set(refused).where(eq(paymentMethod.id, methodId))
  }
  // Of what was paid at a page without being kept there, nothing can be kept afterwards.
  if (!intent.savesMethod || !isPaid(state) || source === null || source === CHECKOUT_SOURCE) return
  // What was added in the meantime may have taken the last place; the payment stands either way.
  if ((await tx.$count(paymentMethod, isKeptOf(userId))) >= PAYMENT_METHODS_PER_USER_MAX) return
  await tx
    .insert(paymentMethod)
    .values({
      id: ids.uuid(),
      userId,
      platformName: intent.platformName,
      state: 'saving',
      source,
      wasPaid: true,
      fingerprint: source,
      brand: intent.sourceBrand,
      last4: intent.sourceLast4,
      lookAt: clock.now(),
      createdAt: clock.now(),
    })
    // It is kept already.
    .onConflictDoNothing()
}
