import type { CallData } from '@berth/contract/call'
import { PAYMENT_METHODS_PER_USER_MAX } from '@berth/contract/limits'
import {
  type checkPayable,
  type PaymentMethod,
  paymentMethod as paymentMethodEntity,
} from '@berth/contract/payment-methods'
import { and, desc, eq } from 'drizzle-orm'
import { PaymentRefused, PaymentUnavailable } from '../../../../drivers/payments/port.ts'
import type { Transaction } from '../../../../platform/database/database.ts'
import { ApiError } from '../../../../platform/http/api-error.ts'
import { wireOf } from '../../../../platform/http/wire.ts'
import { forCustomer } from '../../../customers/customers.ts'
import { currencyOf, lockWallet, readTotals } from '../../ledger/wallet.ts'
import type { AutoTopupRow } from '../auto-topup/stored.ts'
import { readAuto } from '../auto-topup/stored.ts'
import { offeredDriver, type PaymentsDeps } from '../intents.ts'
import { whyNotCharged } from './chargeable.ts'
import { carryOnMethod } from './keeping.ts'
import { countOnly, requireFewRefused } from './refused-cards.ts'
import {
  CHECKOUT_SOURCE,
  ensureDefault,
  isExpired,
  isKeptOf,
  isListedOf,
  isSavedOf,
  type Method,
  methodRowId,
  methodWireId,
  openNextUrl,
} from './stored.ts'
import { paymentMethod } from './tables.ts'

const toWire = wireOf(paymentMethodEntity)

/** What a customer has kept: the default first, then the newest. */
export async function listMethods(
  deps: Pick<PaymentsDeps, 'db' | 'clock' | 'sealer'>,
  userId: string,
): Promise<PaymentMethod[]> {
  const { db } = deps
  const [rows, auto] = await Promise.all([
    db
      .select()
      .from(paymentMethod)
      .where(isListedOf(userId))
      .orderBy(desc(paymentMethod.isDefault), desc(paymentMethod.createdAt), desc(paymentMethod.id))
      // What waits at a platform's page when it is full is no more than were begun before.
      .limit(PAYMENT_METHODS_PER_USER_MAX * 2),
    readAuto(db, userId),
  ])
  const saved = rows.filter(({ state }) => state === 'saved').length
  return rows.map(row => wireMethod(deps, row, isNeededBy(auto, row, saved)))
}

/**
 * Keeps a card, or begins a visit to the platform's page where it is entered. The row is written before the platform is
 * asked, and is finished by recovery where this is cut off; a card that is kept already is answered.
 * @throws ApiError the platform's refusal, which is only counted; `cards_refused_limit`; `payment_method_limit`; `payment_pending` when the
 *   platform did not answer: recovery goes on with it.
 */
export async function addMethod(
  deps: PaymentsDeps,
  userId: string,
  { platformName, source }: { platformName: string; source: string },
): Promise<{ method: PaymentMethod; next_url: string | null }> {
  const driver = offeredDriver(deps, platformName)
  const read = driver.identify(source)
  if (!read.accepted) {
    throw new ApiError(read.failure, { fields: [{ path: 'source', rule: 'not_allowed' }] })
  }
  const { reference, card } = read
  const row = await deps.db.transaction(async tx => {
    await forCustomer(tx, userId)
    await lockWallet(tx, userId)
    const id = deps.ids.uuid()
    // Each visit to a platform's page may bring another card.
    const fingerprint = reference === CHECKOUT_SOURCE ? `page:${id}` : reference
    const same = and(
      isKeptOf(userId),
      eq(paymentMethod.platformName, platformName),
      eq(paymentMethod.fingerprint, fingerprint),
    )
    const [kept] = await tx.select().from(paymentMethod).where(same)
    if (kept) return kept
    await requireFewRefused(tx, deps, userId)
    await requirePlace(tx, userId)
    const now = deps.clock.now()
    const values = { id, userId, platformName, fingerprint, source: reference, ...card }
    const [made] = await tx
      .insert(paymentMethod)
      .values({ ...values, state: 'saving', lookAt: now, createdAt: now })
      .returning()
    if (!made) throw new Error('an insert gave no row')
    return made
  })
  try {
    const { method, nextUrl } = await carryOnMethod(deps, row)
    if (method === null) throw new ApiError('payment_canceled')
    return { method: await readOwn(deps, userId, method), next_url: nextUrl }
  } catch (error) {
    if (error instanceof PaymentRefused) {
      // Whoever asked is told now.
      await countOnly(deps.db, row)
      throw new ApiError(error.failure, { cause: error })
    }
    if (error instanceof PaymentUnavailable) throw new ApiError('payment_pending', { cause: error })
    throw error
  }
}

/** @throws ApiError `payment_method_limit` when another one would be one too many. Call it under the wallet's lock. */
export async function requirePlace(tx: Transaction, userId: string): Promise<void> {
  if ((await tx.$count(paymentMethod, isKeptOf(userId))) < PAYMENT_METHODS_PER_USER_MAX) return
  throw new ApiError('payment_method_limit', { values: { limit: PAYMENT_METHODS_PER_USER_MAX } })
}

/**
 * Makes a saved method the default, in place of the one before.
 * @param said What the caller takes it for; where it is another, nothing changes.
 * @throws ApiError `not_found`, the same for another customer's (R6.4), and for one that is not saved yet.
 */
export async function makeDefault(
  deps: PaymentsDeps,
  userId: string,
  id: string,
  said: { platformName?: string | undefined; source?: string | undefined },
): Promise<PaymentMethod> {
  const row = await deps.db.transaction(async tx => {
    const found = await lockOwn(tx, userId, id)
    const isSo =
      (said.platformName ?? found.platformName) === found.platformName &&
      (said.source ?? found.platformMethodId) === found.platformMethodId
    if (found.state !== 'saved' || !isSo) throw new ApiError('not_found')
    if (found.isDefault) return found
    await tx.update(paymentMethod).set({ isDefault: false }).where(isSavedOf(userId))
    await tx.update(paymentMethod).set({ isDefault: true }).where(eq(paymentMethod.id, found.id))
    return found
  })
  return await readOwn(deps, userId, row)
}

/**
 * Removes a method at once; the platform is told to forget it, by recovery where it does not answer now. What charges
 * it at the moment comes to its end before.
 * @throws ApiError `not_found`; `payment_method_in_use` while auto top-up needs it (R5.9).
 */
export async function removeMethod(deps: PaymentsDeps, userId: string, id: string): Promise<{ id: string }> {
  const row = await deps.db.transaction(async tx => {
    const found = await lockOwn(tx, userId, id)
    const saved = await tx.$count(paymentMethod, isSavedOf(userId))
    if (isNeededBy(await readAuto(tx, userId), found, saved)) throw new ApiError('payment_method_in_use')
    if (found.state === 'refused') {
      await countOnly(tx, found)
      return null
    }
    const [removed = found] = await tx
      .update(paymentMethod)
      .set({ state: 'removing', isDefault: false, lookAt: deps.clock.now() })
      .where(eq(paymentMethod.id, found.id))
      .returning()
    await ensureDefault(tx, userId)
    return removed
  })
  try {
    if (row) await carryOnMethod(deps, row)
  } catch (error) {
    deps.log.warn({ err: error, methodId: id }, 'a platform has not forgotten a payment method yet')
  }
  return { id }
}

/** Has all of a customer's methods forgotten: the account is deleted. */
export async function forgetMethods(
  tx: Transaction,
  { clock }: Pick<PaymentsDeps, 'clock'>,
  userId: string,
): Promise<void> {
  await tx
    .update(paymentMethod)
    .set({ state: 'removing', isDefault: false, lookAt: clock.now() })
    .where(eq(paymentMethod.userId, userId))
}

/** Whether the account could pay now, and by what. */
export async function readPayable(
  deps: Pick<PaymentsDeps, 'db' | 'clock' | 'payments'>,
  userId: string,
): Promise<CallData<typeof checkPayable>> {
  const { db, clock } = deps
  const { availableMicro } = await readTotals(db, clock, userId)
  if (availableMicro > 0n) return { payable: true, by: 'balance', reason: null }
  const currency = await currencyOf(db, userId)
  const saved = await db.select().from(paymentMethod).where(isSavedOf(userId))
  const refusals = saved.map(method => whyNotCharged(deps, method, currency))
  if (refusals.includes(null)) return { payable: true, by: 'payment_method', reason: null }
  const reason = refusals.includes('card_expired') ? 'card_expired' : 'payment_method_required'
  return { payable: false, by: null, reason }
}

/** Whether auto top-up would have nothing to charge without it (R5.9), or names it. */
function isNeededBy(auto: AutoTopupRow | null, { id, state }: Method, saved: number): boolean {
  return Boolean(auto?.enabled) && state === 'saved' && (auto?.methodId === id || saved <= 1)
}

async function lockOwn(tx: Transaction, userId: string, wireId: string): Promise<Method> {
  const id = methodRowId(wireId)
  await forCustomer(tx, userId)
  await lockWallet(tx, userId)
  if (id === null) throw new ApiError('not_found')
  const [row] = await tx
    .select()
    .from(paymentMethod)
    .where(and(isListedOf(userId), eq(paymentMethod.id, id)))
    .for('update')
  if (!row) throw new ApiError('not_found')
  return row
}

/** A method as the list has it by now. */
async function readOwn(
  deps: Pick<PaymentsDeps, 'db' | 'clock' | 'sealer'>,
  userId: string,
  row: Method,
): Promise<PaymentMethod> {
  const kept = await listMethods(deps, userId)
  return kept.find(({ id }) => id === methodWireId(row.id)) ?? wireMethod(deps, row, false)
}

function wireMethod(
  deps: Pick<PaymentsDeps, 'clock' | 'sealer'>,
  row: Method,
  isNeeded: boolean,
): PaymentMethod {
  return toWire({
    ...row,
    id: methodWireId(row.id),
    source: row.platformMethodId ?? '',
    expired: isExpired(row, deps.clock.now()),
    status: row.state === 'saved' || row.state === 'refused' ? row.state : 'saving',
    nextUrl: openNextUrl(deps, row),
    keptFor: isNeeded ? 'payment_method_in_use' : null,
  })
}
