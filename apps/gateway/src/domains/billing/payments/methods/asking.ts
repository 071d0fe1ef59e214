import { and, eq } from 'drizzle-orm'
import type { MethodPage, PaymentDriver, PlatformMethod } from '../../../../drivers/payments/port.ts'
import { currencyOf } from '../../ledger/wallet.ts'
import type { PaymentsDeps } from '../intents.ts'
import { CHECKOUT_SOURCE, type Method } from './stored.ts'
import { paymentMethod } from './tables.ts'

/** What a platform said of what is to be kept: it has it, or where the customer enters it; neither: it was given up. */
export interface Kept {
  method: PlatformMethod | null
  nextUrl: string | null
}

const ENDED: Kept = { method: null, nextUrl: null }

/**
 * Asks a platform to keep what a row names, once for the row however often it is asked, or how far its page is.
 * @throws PaymentUnavailable when the platform did not answer. @throws PaymentRefused when it keeps it never.
 */
export async function askFor(deps: PaymentsDeps, driver: PaymentDriver, row: Method): Promise<Kept> {
  const { id, userId: customer, source } = row
  if (source === CHECKOUT_SOURCE && driver.methodPages) {
    const page = await pageOf(deps, driver.methodPages, row)
    return page.status === 'ended' ? ENDED : { method: page.method, nextUrl: page.next_url }
  }
  const request = { idempotency_key: id, customer, source: source ?? '' }
  return { method: await driver.saveMethod(request), nextUrl: null }
}

async function pageOf(
  { db, publicUrl }: PaymentsDeps,
  pages: NonNullable<PaymentDriver['methodPages']>,
  { id, userId, platformPageId }: Method,
): Promise<MethodPage> {
  if (platformPageId !== null) return await pages.read(platformPageId)
  const page = await pages.begin({
    idempotency_key: id,
    customer: userId,
    currency: await currencyOf(db, userId),
    return_url: new URL('/payments', publicUrl()).href,
  })
  const named = await db
    .update(paymentMethod)
    .set({ platformPageId: page.page_id })
    .where(and(eq(paymentMethod.id, id), eq(paymentMethod.state, 'saving')))
    .returning({ id: paymentMethod.id })
  // It was removed meanwhile, and nothing names the page but this answer.
  return named.length > 0 ? page : await pages.end(page.page_id)
}
