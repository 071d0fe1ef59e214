import { setTimeout as sleep } from 'node:timers/promises'
import type { ErrorCode } from '@berth/contract/errors'
import { and, asc, desc, eq, inArray, isNotNull, isNull, lte, ne, notInArray, or } from 'drizzle-orm'
import {
  type MethodVisit,
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
import { askFor } from './asking.ts'
import { drop, forget } from './forgetting.ts'
import { REFUSED_CARDS_MS } from './refused-cards.ts'
import { CHECKOUT_SOURCE, ensureDefault, type Method } from './stored.ts'
import { paymentMethod } from './tables.ts'

/** What is not kept by then is given up, so that nothing is saving for ever: a visit to a platform's page ends before. */
const SAVING_MS_MAX = 24 * 3_600_000
/** A customer who waits looks every few seconds; their list waits no longer than that for the platform. */
const ASKED_MS_MIN = 3_000
const FRESHEN_MS_MAX = 2_000
/** Nobody is waited for any more. */
const NOWHERE = { nextUrlBox: null, nextUrlKeyId: null } as const
/** Looks of one round. */
const LOOKS_PER_ROUND_MAX = 100

/**
 * Carries on what is saving or removing, as far as the platform lets it; each step is safe to repeat. Asks the
 * platform outside any transaction.
 * @returns The row as it is now; null once it is gone. And where the customer goes on, while they are waited for.
 * @throws PaymentUnavailable when the platform did not answer. @throws PaymentRefused when it refused: the row says so.
 */
export async function carryOnMethod(
  deps: PaymentsDeps,
  row: Method,
): Promise<{ method: Method | null; nextUrl: string | null }> {
  const driver = driverOf(deps, row.platformName)
  if (row.state === 'removing') return { method: await forget(deps, driver, row), nextUrl: null }
  if (row.state !== 'saving') return { method: row, nextUrl: null }
  let visit: MethodVisit
  try {
    visit = await askFor(deps, driver, row)
    if (visit.status === 'refused') {
      throw new PaymentRefused('the bank refused it', visit.failure ?? 'payment_failed')
    }
  } catch (error) {
    if (error instanceof PaymentRefused) await noteRefused(deps, row, error.failure)
    throw error
  }
  if (visit.method) return { method: await finish(deps, driver, row, visit.method), nextUrl: null }
  if (visit.status === 'open') return { method: row, nextUrl: visit.next_url }
  await drop(deps, row)
  return { method: null, nextUrl: null }
}

/** A card that is not kept is told for a day: whoever waited for it may be at another tab, or at their bank's. */
async function noteRefused(
  { db, clock }: PaymentsDeps,
  { id }: Method,
  refusedFor: ErrorCode,
): Promise<void> {
  const refusedAt = clock.now()
  const lookAt = new Date(refusedAt.getTime() + REFUSED_CARDS_MS)
  await db
    .update(paymentMethod)
    .set({ state: 'refused', refusedAt, refusedFor, lookAt, source: null, ...NOWHERE })
    .where(and(eq(paymentMethod.id, id), eq(paymentMethod.state, 'saving')))
}

/**
 * Asks platforms for what a customer waits for just now, such as one who comes back from their bank's page: not waited for
 * longer than a page would wait, and not more often than every few seconds.
 */
export async function freshenMethods(deps: PaymentsDeps, userId: string): Promise<void> {
  const now = deps.clock.now()
  const isWaiting = and(
    eq(paymentMethod.userId, userId),
    eq(paymentMethod.state, 'saving'),
    isNotNull(paymentMethod.platformPageId),
  )
  const isLongAgo = or(
    isNull(paymentMethod.askedAt),
    lte(paymentMethod.askedAt, new Date(now.getTime() - ASKED_MS_MIN)),
  )
  const [row] = await deps.db
    .select()
    .from(paymentMethod)
    .where(and(isWaiting, isLongAgo))
    .orderBy(desc(paymentMethod.createdAt))
    .limit(1)
  if (!row) return
  const isIt = and(eq(paymentMethod.id, row.id), isLongAgo)
  const taken = await deps.db.update(paymentMethod).set({ askedAt: now }).where(isIt).returning()
  if (taken.length === 0) return
  const asked = carryOnMethod(deps, row).catch(error => {
    if (error instanceof PaymentRefused) return
    deps.log.warn({ err: error, methodId: row.id }, 'a payment method could not be asked for')
  })
  await Promise.race([asked, sleep(FRESHEN_MS_MAX, undefined, { ref: false })])
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
    if (row.state === 'refused' || row.state === 'counted') {
      await drop(deps, row)
      continue
    }
    try {
      const { method } = await carryOnMethod(deps, row)
      if (method?.state === 'saving' && isLate(deps, row)) await giveUp(deps, row)
    } catch (error) {
      if (error instanceof PaymentRefused) continue
      deps.log.warn({ err: error, methodId: row.id }, 'a payment method could not be carried on')
      if (row.state === 'saving' && isLate(deps, row)) await giveUp(deps, row)
    }
  }
  return count
}

/** What has a visit at the platform is on its way out until that is ended: nobody's card is kept there for nobody. */
async function giveUp(deps: PaymentsDeps, row: Method): Promise<void> {
  const { db, clock } = deps
  const [now] = await db
    .select()
    .from(paymentMethod)
    .where(and(eq(paymentMethod.id, row.id), eq(paymentMethod.state, 'saving')))
  if (!now) return
  if (now.platformPageId === null) return await drop(deps, row)
  const isIt = and(eq(paymentMethod.id, row.id), eq(paymentMethod.state, 'saving'))
  await db
    .update(paymentMethod)
    .set({ state: 'removing', lookAt: clock.now(), ...NOWHERE })
    .where(isIt)
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
  const booked = await change(tx, row, {
    ...saved,
    ...NOWHERE,
    state: 'saved',
    source: null,
    lookAt: null,
  })
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
    .where(
      and(isOf, isSame, ne(paymentMethod.id, id), notInArray(paymentMethod.state, ['refused', 'counted'])),
    )
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
