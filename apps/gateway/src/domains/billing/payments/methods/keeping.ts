import { and, asc, eq, isNotNull, lte, ne } from 'drizzle-orm'
import {
  type MethodPage,
  type PaymentDriver,
  PaymentRefused,
  type PlatformMethod,
} from '../../../../drivers/payments/port.ts'
import { currencyOf, lockWallet } from '../../ledger/wallet.ts'
import { driverOf, type PaymentsDeps } from '../intents.ts'
import { lookPauseMs } from '../recovery.ts'
import { ensureDefault, isBeingCharged, type Method } from './stored.ts'
import { paymentMethod } from './tables.ts'

/** What a customer names as source where the platform asks on a page of its own. */
export const CHECKOUT_SOURCE = 'checkout'

/** What is not kept by then is given up, so that nothing is saving for ever: a visit to a platform's page ends before. */
const SAVING_MS_MAX = 24 * 3_600_000
/** Looks of one round. */
const LOOKS_PER_ROUND_MAX = 100

/** What a platform said of what is to be kept: it has it, or where the customer enters it; neither: it was given up. */
interface Kept {
  method: PlatformMethod | null
  nextUrl: string | null
}

const ENDED: Kept = { method: null, nextUrl: null }

/**
 * Carries on what is saving or removing, as far as the platform lets it; each step is safe to repeat. Asks the
 * platform outside any transaction.
 * @returns The row as it is now; null once it is gone. And where the customer goes on, while a card is to be entered.
 * @throws PaymentUnavailable when the platform did not answer. @throws PaymentRefused when it refused: the row is gone.
 */
export async function carryOnMethod(
  deps: PaymentsDeps,
  row: Method,
): Promise<{ method: Method | null; nextUrl: string | null }> {
  const driver = driverOf(deps, row.platformName)
  if (row.state === 'removing') return { method: await forget(deps, driver, row), nextUrl: null }
  if (row.state === 'saved') return { method: row, nextUrl: null }
  let kept: Kept
  try {
    kept = await askFor(deps, driver, row)
  } catch (error) {
    if (error instanceof PaymentRefused) await drop(deps, row)
    throw error
  }
  if (kept.method) return { method: await finish(deps, driver, row, kept.method), nextUrl: null }
  if (kept.nextUrl !== null) return { method: row, nextUrl: kept.nextUrl }
  await drop(deps, row)
  return { method: null, nextUrl: null }
}

/**
 * Finishes what a killed gateway, a platform that did not answer or a visit to a platform's page left open. Safe at any
 * time and in any number of replicas.
 * @returns How many rows it looked at. One that fails is logged and left for the next time.
 */
export async function recoverMethods(deps: PaymentsDeps, signal?: AbortSignal): Promise<number> {
  let count = 0
  for (; count < LOOKS_PER_ROUND_MAX && !signal?.aborted; count += 1) {
    const row = await takeDue(deps)
    if (!row) break
    try {
      const { method } = await carryOnMethod(deps, row)
      if (method?.state === 'saving' && isLate(deps, row)) await drop(deps, row)
    } catch (error) {
      deps.log.warn({ err: error, methodId: row.id }, 'a payment method could not be carried on')
      if (row.state === 'saving' && isLate(deps, row)) await drop(deps, row)
    }
  }
  return count
}

function isLate({ clock }: Pick<PaymentsDeps, 'clock'>, { createdAt }: Method): boolean {
  return clock.now().getTime() - createdAt.getTime() > SAVING_MS_MAX
}

/** The row that has waited longest; it is due again after a pause that grows with its age, whatever comes of the look. */
async function takeDue({ db, clock }: Pick<PaymentsDeps, 'db' | 'clock'>): Promise<Method | null> {
  return await db.transaction(async tx => {
    const now = clock.now()
    const [due] = await tx
      .select()
      .from(paymentMethod)
      .where(and(isNotNull(paymentMethod.lookAt), lte(paymentMethod.lookAt, now)))
      .orderBy(asc(paymentMethod.lookAt))
      .limit(1)
      .for('update', { skipLocked: true })
    if (!due) return null
    const lookAt = new Date(now.getTime() + lookPauseMs(now.getTime() - due.createdAt.getTime()))
    await tx.update(paymentMethod).set({ lookAt }).where(eq(paymentMethod.id, due.id))
    return due
  })
}

async function askFor(deps: PaymentsDeps, driver: PaymentDriver, row: Method): Promise<Kept> {
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
  await db.update(paymentMethod).set({ platformPageId: page.page_id }).where(eq(paymentMethod.id, id))
  return page
}

/** Books that the platform has it, once. The same card that is kept already stays the one that it is. */
async function finish(
  deps: PaymentsDeps,
  driver: PaymentDriver,
  { id, userId }: Method,
  kept: PlatformMethod,
): Promise<Method | null> {
  const expiry = { expiryMonth: kept.expiry_month, expiryYear: kept.expiry_year }
  const booked = await deps.db.transaction(async tx => {
    await lockWallet(tx, userId)
    const [row] = await tx.select().from(paymentMethod).where(eq(paymentMethod.id, id)).for('update')
    if (!row || row.state === 'saved') return row ?? null
    // It was removed meanwhile: the platform is to forget what it has just kept.
    if (row.state === 'removing') return await change(row, { platformMethodId: kept.method_id })
    // What is entered here is told apart by what was entered, what is entered there by what the platform calls it.
    const fingerprint = row.source === CHECKOUT_SOURCE ? kept.method_id : row.fingerprint
    const [same] = await tx
      .update(paymentMethod)
      .set(expiry)
      .where(
        and(
          eq(paymentMethod.userId, userId),
          eq(paymentMethod.platformName, row.platformName),
          eq(paymentMethod.fingerprint, fingerprint),
          eq(paymentMethod.state, 'saved'),
          ne(paymentMethod.id, id),
        ),
      )
      .returning()
    if (same) {
      await tx.delete(paymentMethod).where(eq(paymentMethod.id, id))
      return same
    }
    const { method_id: platformMethodId, brand, last4 } = kept
    const saved = { platformMethodId, brand, last4, fingerprint, ...expiry }
    await change(row, { ...saved, state: 'saved', source: null, lookAt: null })
    await ensureDefault(tx, userId)
    const [now = null] = await tx.select().from(paymentMethod).where(eq(paymentMethod.id, id))
    return now

    async function change(from: Method, to: Partial<Method>): Promise<Method> {
      const [changed = from] = await tx
        .update(paymentMethod)
        .set(to)
        .where(eq(paymentMethod.id, id))
        .returning()
      return changed
    }
  })
  // Nobody waits for it any more, and nothing names what the platform has but this answer.
  if (booked === null) await driver.forgetMethod(kept.method_id)
  return booked
}

/** Has the platform forget it, and then forgets it here. @returns Null once that is done. */
async function forget(deps: PaymentsDeps, driver: PaymentDriver, row: Method): Promise<Method | null> {
  if (await isBeingCharged(deps.db, row.id)) return row
  const methodId = row.platformMethodId ?? (await idOfUnfinished(deps, driver, row))
  if (methodId !== null) await driver.forgetMethod(methodId)
  await drop(deps, row)
  return null
}

/** What the platform may have kept before somebody removed what was still saving; null where it has nothing. */
async function idOfUnfinished(
  deps: PaymentsDeps,
  driver: PaymentDriver,
  row: Method,
): Promise<string | null> {
  // A page that was never opened has taken no card.
  if (row.source === CHECKOUT_SOURCE && row.platformPageId === null) return null
  try {
    return (await askFor(deps, driver, row)).method?.method_id ?? null
  } catch (error) {
    if (error instanceof PaymentRefused) return null
    throw error
  }
}

async function drop({ db }: Pick<PaymentsDeps, 'db'>, { id }: Method): Promise<void> {
  await db.delete(paymentMethod).where(and(eq(paymentMethod.id, id), ne(paymentMethod.state, 'saved')))
}
