import { and, asc, eq, inArray, isNotNull, lte, ne, or } from 'drizzle-orm'
import {
  type PaymentDriver,
  PaymentRefused,
  PaymentUnavailable,
  type PlatformMethod,
} from '../../../../drivers/payments/port.ts'
import type { Transaction } from '../../../../platform/database/database.ts'
import { lockWallet } from '../../ledger/wallet.ts'
import { noteCard } from '../cards-seen.ts'
import { OPEN_STATES } from '../intent-states.ts'
import { driverOf, type PaymentsDeps } from '../intents.ts'
import { lookPauseMs } from '../recovery.ts'
import { paymentIntent } from '../tables.ts'
import { askFor, type Kept } from './asking.ts'
import { drop, forget } from './forgetting.ts'
import { CHECKOUT_SOURCE, ensureDefault, type Method } from './stored.ts'
import { paymentMethod } from './tables.ts'

/** What is not kept by then is given up, so that nothing is saving for ever: a visit to a platform's page ends before. */
const SAVING_MS_MAX = 24 * 3_600_000
/** Looks of one round. */
const LOOKS_PER_ROUND_MAX = 100

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

/**
 * Books that the platform has it, once. The same card that is kept already stays the one that it is; one that is on its
 * way out is kept again. Where the row is gone, it is on its way out, so that the platform forgets what nobody names.
 */
async function finish(
  deps: PaymentsDeps,
  driver: PaymentDriver,
  row: Method,
  kept: PlatformMethod,
): Promise<Method | null> {
  const { booked, isGone } = await deps.db.transaction(async tx => {
    await lockWallet(tx, row.userId)
    const found = await tx.select().from(paymentMethod).where(eq(paymentMethod.id, row.id)).for('update')
    return { booked: await bookKept(tx, deps, { row, isThere: found[0] ?? null, kept }), isGone: !found[0] }
  })
  return isGone && booked.state === 'removing' ? await forget(deps, driver, booked) : booked
}

interface Booking {
  /** As it was when the platform was asked. */
  row: Method
  /** As it is now; null where it is gone. */
  isThere: Method | null
  kept: PlatformMethod
}

async function bookKept(
  tx: Transaction,
  { clock }: Pick<PaymentsDeps, 'clock'>,
  { row, isThere, kept }: Booking,
): Promise<Method> {
  const { method_id: platformMethodId, brand, last4 } = kept
  await noteCard(tx, { clock }, { ...row, fingerprint: kept.fingerprint ?? null })
  if (isThere?.state === 'saved') return isThere
  // It was removed meanwhile: the platform is to forget what it has just kept.
  if (isThere?.state === 'removing') return await change(tx, isThere, { platformMethodId })
  // What is entered here is told apart by what was entered, what is entered there by what the platform calls it.
  const fingerprint = row.source === CHECKOUT_SOURCE ? platformMethodId : row.fingerprint
  const others = await othersLike(tx, row, { platformMethodId, fingerprint })
  const expiry = { expiryMonth: kept.expiry_month, expiryYear: kept.expiry_year }
  const same = others.find(({ state }) => state === 'saved')
  if (same) {
    await tx.delete(paymentMethod).where(eq(paymentMethod.id, row.id))
    return await change(tx, same, expiry)
  }
  if (isThere === null) {
    const leaving = {
      ...row,
      state: 'removing',
      isDefault: false,
      source: null,
      lookAt: clock.now(),
    } as const
    await tx.insert(paymentMethod).values({ ...leaving, platformMethodId })
    return { ...leaving, platformMethodId }
  }
  const leaving = others.filter(other => other.platformMethodId === platformMethodId)
  await takeOver(tx, row, leaving)
  const saved = { platformMethodId, brand, last4, fingerprint, ...expiry }
  const booked = await change(tx, row, { ...saved, state: 'saved', source: null, lookAt: null })
  await ensureDefault(tx, row.userId)
  const [now = booked] = await tx.select().from(paymentMethod).where(eq(paymentMethod.id, row.id))
  return now
}

/** The customer's other rows of the same card, by what tells it apart or by what the platform calls it. */
async function othersLike(
  tx: Transaction,
  { id, userId, platformName }: Method,
  { platformMethodId, fingerprint }: { platformMethodId: string; fingerprint: string },
): Promise<Method[]> {
  const isSame = or(
    eq(paymentMethod.fingerprint, fingerprint),
    eq(paymentMethod.platformMethodId, platformMethodId),
  )
  const isOf = and(eq(paymentMethod.userId, userId), eq(paymentMethod.platformName, platformName))
  return await tx
    .select()
    .from(paymentMethod)
    .where(and(isOf, isSame, ne(paymentMethod.id, id)))
    .for('update')
}

/**
 * Keeps again what was on its way out, in place of those rows: the platform must not forget it for them. What charges
 * them at the moment charges it.
 * @throws PaymentUnavailable where the platform is being asked to forget it: then it is kept anew, by recovery.
 */
async function takeOver(tx: Transaction, { id }: Method, leaving: readonly Method[]): Promise<void> {
  if (leaving.some(({ isForgetting }) => isForgetting)) {
    throw new PaymentUnavailable('the platform is forgetting this card')
  }
  const ids = leaving.map(other => other.id)
  if (ids.length === 0) return
  const isCharging = and(inArray(paymentIntent.methodId, ids), inArray(paymentIntent.state, [...OPEN_STATES]))
  await tx.update(paymentIntent).set({ methodId: id }).where(isCharging)
  await tx.delete(paymentMethod).where(inArray(paymentMethod.id, ids))
}

async function change(tx: Transaction, from: Method, to: Partial<Method>): Promise<Method> {
  const [changed = from] = await tx
    .update(paymentMethod)
    .set(to)
    .where(eq(paymentMethod.id, from.id))
    .returning()
  return changed
}
