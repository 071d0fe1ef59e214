import { and, eq } from 'drizzle-orm'
import type { MethodVisit, PaymentDriver } from '../../../../drivers/payments/port.ts'
import { currencyOf } from '../../ledger/wallet.ts'
import type { PaymentsDeps } from '../intents.ts'
import { type Method, methodWireId, openNextUrl, sealNextUrl } from './stored.ts'
import { paymentMethod } from './tables.ts'

/**
 * Asks a platform to keep what a row names, once for the row however often it is asked, or how far that is. Where the
 * customer goes on is kept, so that they find it again after a reload and in other tabs.
 * @throws PaymentUnavailable when the platform did not answer. @throws PaymentRefused when it keeps it never.
 */
export async function askFor(deps: PaymentsDeps, driver: PaymentDriver, row: Method): Promise<MethodVisit> {
  const visit =
    row.platformPageId === null ? await begin(deps, driver, row) : await driver.readVisit(row.platformPageId)
  const { visit_id: platformPageId, next_url: nextUrl } = visit
  if (visit.status !== 'open' || platformPageId === null) return visit
  if (row.platformPageId === platformPageId && openNextUrl(deps, row) === nextUrl) return visit
  const named = await deps.db
    .update(paymentMethod)
    .set({ platformPageId, ...sealNextUrl(deps, row.id, nextUrl) })
    .where(and(eq(paymentMethod.id, row.id), eq(paymentMethod.state, 'saving')))
    .returning({ id: paymentMethod.id })
  // It was removed meanwhile, and nothing names the visit but this answer.
  return named.length > 0 ? visit : await driver.endVisit(platformPageId)
}

/** Asks for it the first time, or again where nobody knows what came of that. */
export async function begin(
  { db, publicUrl }: Pick<PaymentsDeps, 'db' | 'publicUrl'>,
  driver: PaymentDriver,
  { id, userId, source, wasPaid }: Method,
): Promise<MethodVisit> {
  return await driver.saveMethod({
    idempotency_key: id,
    customer: userId,
    source: source ?? '',
    currency: await currencyOf(db, userId),
    return_url: new URL(`/payments?card=${methodWireId(id)}`, publicUrl()).href,
    was_paid: wasPaid,
  })
}
