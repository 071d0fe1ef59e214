import { eq } from 'drizzle-orm'
import type { PaymentDriver } from '../../../drivers/payments/port.ts'
import { lockWallet } from '../ledger/wallet.ts'
import { isOpen } from './intent-states.ts'
import { apply, type Intent, type PaymentsDeps } from './intents.ts'
import { paymentIntent } from './tables.ts'

/** So long another gateway, which does reach the platform, may be about to ask it for the first time. */
const ASKING_MS_MAX = 3_600_000

/** The platform of a payment; null where this installation has none of that name any more. */
export function platformOf(
  { payments }: Pick<PaymentsDeps, 'payments'>,
  { platformName }: Pick<Intent, 'platformName'>,
): PaymentDriver | null {
  return payments.find(({ name }) => name === platformName) ?? null
}

/**
 * Ends a payment whose platform is set up no more, where the platform cannot have charged it: its id there is kept
 * before it is charged, so that what has none was never charged. One that has an id may have been paid; it stays, and
 * the log tells the operator of it at each look.
 * @param isAsked Whether the customer wants it ended now; else it has time to be asked for by another gateway.
 * @returns The payment as it is now.
 */
export async function endUnreachable(deps: PaymentsDeps, intent: Intent, isAsked: boolean): Promise<Intent> {
  const { id, userId, platformName, createdAt } = intent
  const isYoung = deps.clock.now().getTime() - createdAt.getTime() < ASKING_MS_MAX
  return await deps.db.transaction(async tx => {
    await lockWallet(tx, userId)
    const [row = intent] = await tx.select().from(paymentIntent).where(eq(paymentIntent.id, id))
    if (!isOpen(row.state)) return row
    if (row.state !== 'created' || row.platformIntentId !== null) {
      deps.log.error(
        { intentId: id, platform: platformName },
        'a payment may have been paid at a platform that is set up no more; set it up again, so that it is known',
      )
      return row
    }
    if (isYoung && !isAsked) return row
    const told = { status: 'failed', failure: 'payment_platform_unknown', next_url: null } as const
    const nothing = { intent_id: null, refunded_cents: 0, refunds_failed_cents: 0 }
    return (await apply(tx, deps, id, { ...nothing, ...told })).intent
  })
}
