import { type Card, type TopupState, topup as topupCall, topupState } from '@berth/contract/billing'
import type { CallData } from '@berth/contract/call'
import { amountValues, ERRORS, type ErrorCode, type FieldRule } from '@berth/contract/errors'
import {
  type Currency,
  OPEN_TOPUPS_PER_USER_MAX,
  PAYMENT_METHODS_PER_USER_MAX,
  TOPUP_CENTS_MAX,
  TOPUP_CENTS_MIN,
} from '@berth/contract/limits'
import { and, desc, eq, gte, isNull, ne, notInArray } from 'drizzle-orm'
import { type PaymentDriver, PaymentRefused, PaymentUnavailable } from '../../../drivers/payments/port.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { wireOf } from '../../../platform/http/wire.ts'
import { earlierResult, keepResult } from '../../../platform/once.ts'
import { forCustomer } from '../../customers/customers.ts'
import { currencyOf, lockWallet } from '../ledger/wallet.ts'
import { type IntentState, isOpen, isPaid, type OPEN_STATES } from './intent-states.ts'
import {
  book,
  carryOn,
  type Intent,
  isOpenOf,
  offeredDriver,
  openNextUrl,
  type PaymentsDeps,
} from './intents.ts'
import { carryOnMethod } from './methods/keeping.ts'
import { requirePlace } from './methods/methods.ts'
import { requireFewRefused } from './methods/refused-cards.ts'
import { findSaved, isExpired, isKeptOf, methodRowId } from './methods/stored.ts'
import { paymentMethod } from './methods/tables.ts'
import { paymentIntent } from './tables.ts'
import { endUnreachable, platformOf } from './unreachable.ts'

export interface TopupRequest {
  userId: string
  /** Unique to the customer: the same key is the same top-up, however often it is sent (B3). */
  idempotencyKey: string
  amountCents: number
  currency: Currency
  platformName: string
  /** What the customer entered. Only what the driver makes of it is stored. */
  source?: string | undefined
  /** What is charged instead: a saved method, as the wire names it. */
  methodId?: string | undefined
  /** Whether what was entered is kept once it is paid. */
  savesMethod?: boolean | undefined
  /** The newest top-up that the customer knew of, as the wire names it; null: none; left out: it does not matter. */
  after?: string | null | undefined
  /** The call that asks; a key is unique to it. */
  operation?: string
}

/** What is charged: something entered, or a saved method. */
interface Charged {
  reference: string
  card: Card
  methodId: string | null
}

export type TopupAnswer = CallData<typeof topupCall>

const toAnswer = wireOf(topupCall.data)
const toState = wireOf(topupState)

type OpenState = (typeof OPEN_STATES)[number]

/** Ids on the wire say what they are. */
const ID_PATTERN = /^t_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/

/**
 * Charges a source once; the amount is added to the wallet when the platform says that it has it, now or later. The
 * row is written before the platform is asked, and the platform is asked with the row's id as its reference, so that
 * a crash at any point leaves a row which `recoverTopups` (or the same call again) finishes with the same one charge
 * (B3).
 * @returns What became of it: `settled`, `pending` while the platform works, `requires_action` with where to go.
 * @throws ApiError the platform's refusal; `topup_limit`; `topup_elsewhere` where the customer has begun another one that they did not know of;
 *   `cards_refused_limit`; `payment_pending` when the platform did not answer: then it is not known
 *   whether it charged, the row stays open, and the same key carries on with it.
 */
export async function topUp(deps: PaymentsDeps, request: TopupRequest): Promise<TopupAnswer> {
  const intent = await findOrCreate(deps, request, await checkRequest(deps, request))
  if (!isOpen(intent.state)) return answerOf(deps, intent)
  try {
    const carried = await carryOn(deps, intent)
    // The list shows at once what was kept; where the platform does not answer, recovery keeps it.
    if (carried.savesMethod && isPaid(carried.state)) await finishSaving(deps, request.userId)
    return answerOf(deps, carried)
  } catch (error) {
    if (!(error instanceof PaymentUnavailable)) throw error
    deps.log.warn(
      { err: error, intentId: intent.id },
      'the payment platform did not answer; the top-up stays open',
    )
    throw new ApiError('payment_pending', { cause: error })
  }
}

/** A top-up as it is known now. @throws ApiError `not_found`, the same for another customer's (R6.4). */
export async function readTopup(
  deps: Pick<PaymentsDeps, 'db' | 'sealer'>,
  userId: string,
  id: string,
): Promise<TopupState> {
  return stateOf(deps, await findOwn(deps, userId, id))
}

/** The customer's top-ups of which it is not known yet if they were paid, newest first. */
export async function openTopups(
  deps: Pick<PaymentsDeps, 'db' | 'sealer'>,
  userId: string,
): Promise<TopupState[]> {
  const rows = await deps.db
    .select()
    .from(paymentIntent)
    .where(isOpenOf(userId))
    .orderBy(desc(paymentIntent.createdAt), desc(paymentIntent.id))
    .limit(OPEN_TOPUPS_PER_USER_MAX)
  return rows.map(row => stateOf(deps, row))
}

/**
 * Ends a top-up that waits for the customer, or that was never asked for at a platform that is set up no more. One that has moved on is answered as it is: whoever paid in the same
 * moment is told so.
 * @throws ApiError `not_found`; `payment_pending` when the platform did not answer.
 */
export async function cancelTopup(deps: PaymentsDeps, userId: string, id: string): Promise<TopupState> {
  await deps.db.transaction(tx => forCustomer(tx, userId))
  const intent = await findOwn(deps, userId, id)
  if (!isOpen(intent.state)) return stateOf(deps, intent)
  const driver = platformOf(deps, intent)
  if (driver === null) return stateOf(deps, await endUnreachable(deps, intent, true))
  if (intent.platformIntentId === null) return stateOf(deps, intent)
  try {
    return stateOf(deps, await book(deps, intent, await driver.cancel(intent.platformIntentId)))
  } catch (error) {
    // What there is none of any more is found to be so by recovery.
    if (!(error instanceof PaymentUnavailable || error instanceof PaymentRefused)) throw error
    throw new ApiError('payment_pending', { cause: error })
  }
}

async function findOwn({ db }: Pick<PaymentsDeps, 'db'>, userId: string, id: string): Promise<Intent> {
  const uuid = ID_PATTERN.exec(id)?.[1]
  if (uuid === undefined) throw new ApiError('not_found')
  const [row] = await db
    .select()
    .from(paymentIntent)
    .where(and(eq(paymentIntent.id, uuid), eq(paymentIntent.userId, userId)))
  if (!row) throw new ApiError('not_found')
  return row
}

/** Refuses what need not be tried; nothing is stored of it. */
async function checkRequest(deps: PaymentsDeps, request: TopupRequest): Promise<Charged> {
  const driver = offeredDriver(deps, request.platformName)
  const { amountCents } = request
  if (!Number.isInteger(amountCents) || amountCents < TOPUP_CENTS_MIN || amountCents > TOPUP_CENTS_MAX) {
    throw new ApiError('invalid_amount', {
      fields: [
        { path: 'amount', rule: 'invalid_amount', values: amountValues(TOPUP_CENTS_MIN, TOPUP_CENTS_MAX) },
      ],
    })
  }
  const currency = await currencyOf(deps.db, request.userId)
  if (request.currency !== currency || !driver.currencies.includes(currency)) {
    throw new ApiError('currency_mismatch', {
      values: { currency },
      fields: [{ path: 'currency', rule: 'not_allowed' }],
    })
  }
  return request.methodId === undefined ? readEntered(driver, request) : await readSaved(deps, request)
}

/** @throws ApiError `required_fields` where nothing was entered; the driver's refusal. */
function readEntered(driver: PaymentDriver, { source }: TopupRequest): Charged {
  if (source === undefined) throw fieldFault('source', 'required')
  const read = driver.identify(source)
  if (!read.accepted) {
    throw new ApiError(read.failure, { fields: [{ path: 'source', rule: 'not_allowed' }] })
  }
  return { reference: read.reference, card: read.card, methodId: null }
}

/** @throws ApiError `not_found`, the same for another customer's (R6.4); `card_expired`. */
async function readSaved(
  { db, clock }: PaymentsDeps,
  { userId, methodId = '', platformName, source, savesMethod }: TopupRequest,
): Promise<Charged> {
  if (source !== undefined) throw fieldFault('source', 'not_allowed')
  if (savesMethod) throw fieldFault('save_method', 'not_allowed')
  const id = methodRowId(methodId)
  const method = id === null ? null : await findSaved(db, userId, id)
  if (method === null) throw new ApiError('not_found')
  if (method.platformName !== platformName) throw fieldFault('platform_name', 'not_allowed')
  if (isExpired(method, clock.now())) {
    throw new ApiError('card_expired', { fields: [{ path: 'method_id', rule: 'not_allowed' }] })
  }
  const { brand, last4 } = method
  return { reference: method.platformMethodId, card: { brand, last4 }, methodId: method.id }
}

function fieldFault(path: string, rule: FieldRule): ApiError {
  return new ApiError('validation_failed', { fields: [{ path, rule }] })
}

async function finishSaving(deps: PaymentsDeps, userId: string): Promise<void> {
  const rows = await deps.db
    .select()
    .from(paymentMethod)
    .where(and(isKeptOf(userId), eq(paymentMethod.state, 'saving'), isNull(paymentMethod.platformPageId)))
    .limit(PAYMENT_METHODS_PER_USER_MAX)
  for (const row of rows) {
    try {
      await carryOnMethod(deps, row)
    } catch (error) {
      deps.log.warn({ err: error, methodId: row.id }, 'what was paid with could not be kept')
    }
  }
}

/**
 * The row of this key: made now, or by an earlier try with the same content. Made under the wallet's lock, as an
 * account is deleted: either the deletion sees the open top-up, or the top-up finds the account deleted.
 */
async function findOrCreate(
  { db, clock, ids }: PaymentsDeps,
  request: TopupRequest,
  { reference: source, card: { brand: sourceBrand, last4: sourceLast4 }, methodId }: Charged,
): Promise<Intent> {
  const { userId, idempotencyKey, amountCents, currency, platformName, savesMethod = false } = request
  const { operation = topupCall.operation } = request
  const call = { userId, operation, key: idempotencyKey }
  const content = {
    userId,
    amountCents,
    currency,
    platformName,
    sourceBrand,
    sourceLast4,
    methodId,
    savesMethod,
  }
  return await db.transaction(async tx => {
    await forCustomer(tx, userId)
    await lockWallet(tx, userId)
    const now = clock.now()
    const earlier = await earlierResult(tx, call, now)
    if (earlier !== null) return await findSame(tx, earlier, content)
    if (request.after !== undefined) await requireNewest(tx, userId, request.after)
    await requireFewOpen(tx, userId)
    if (methodId === null) await requireFewRefused(tx, { clock }, userId)
    // Removed meanwhile, it is not charged any more.
    if (methodId !== null && (await findSaved(tx, userId, methodId)) === null) throw new ApiError('not_found')
    if (savesMethod) await requirePlace(tx, userId)
    const [made] = await tx
      .insert(paymentIntent)
      .values({ ...content, id: ids.uuid(), source, state: 'created', createdAt: now, lookAt: now })
      .returning()
    if (!made) throw new Error('an insert gave no row')
    await keepResult(tx, call, made.id)
    return made
  })
}

/**
 * Whoever pays twice without knowing it has two forms open. Auto top-ups are none of it, nor is what charged nothing.
 * @throws ApiError `topup_elsewhere` where the customer has begun another one since the one that they know of.
 */
async function requireNewest(tx: Transaction, userId: string, known: string | null): Promise<void> {
  const knownId = (known !== null && ID_PATTERN.exec(known)?.[1]) || null
  const isOwn = eq(paymentIntent.userId, userId)
  const [before] =
    knownId === null
      ? []
      : await tx
          .select()
          .from(paymentIntent)
          .where(and(isOwn, eq(paymentIntent.id, knownId)))
  const others = and(
    isOwn,
    eq(paymentIntent.origin, 'customer'),
    notInArray(paymentIntent.state, ['failed', 'canceled']),
    before && and(ne(paymentIntent.id, before.id), gte(paymentIntent.createdAt, before.createdAt)),
  )
  if ((await tx.$count(paymentIntent, others)) > 0) throw new ApiError('topup_elsewhere')
}

/** @throws ApiError `topup_limit` when another payment would be one too many to wait for. */
async function requireFewOpen(tx: Transaction, userId: string): Promise<void> {
  const open = await tx.$count(paymentIntent, isOpenOf(userId))
  if (open < OPEN_TOPUPS_PER_USER_MAX) return
  throw new ApiError('topup_limit', { values: { limit: OPEN_TOPUPS_PER_USER_MAX } })
}

/** What an earlier try made. @throws ApiError `idempotency_key_reused` when it was asked for something else. */
async function findSame(
  tx: Transaction,
  id: string,
  content: Pick<
    Intent,
    | 'userId'
    | 'amountCents'
    | 'currency'
    | 'platformName'
    | 'sourceBrand'
    | 'sourceLast4'
    | 'methodId'
    | 'savesMethod'
  >,
): Promise<Intent> {
  const { userId, amountCents, currency, platformName, sourceBrand, sourceLast4 } = content
  const [found] = await tx
    .select()
    .from(paymentIntent)
    .where(and(eq(paymentIntent.id, id), eq(paymentIntent.userId, userId)))
  if (!found) throw new Error(`payment ${id} is gone`)
  const same =
    found.amountCents === amountCents &&
    found.currency === currency &&
    found.platformName === platformName &&
    found.methodId === content.methodId &&
    found.savesMethod === content.savesMethod &&
    // What is chosen at a platform's own page is known of the earlier one, and not yet of this.
    (sourceLast4 === '' || (found.sourceBrand === sourceBrand && found.sourceLast4 === sourceLast4))
  if (!same) throw new ApiError('idempotency_key_reused')
  return found
}

/** What the top-up call answers; an end without money is thrown. */
function answerOf(deps: Pick<PaymentsDeps, 'sealer'>, intent: Intent): TopupAnswer {
  const { state } = intent
  if (state === 'failed') throw new ApiError(errorCode(intent.failure))
  if (state === 'canceled') throw new ApiError('payment_canceled')
  return toAnswer({
    ...intent,
    transactionId: `t_${intent.id}`,
    amount: intent.amountCents,
    status: isPaid(state) ? 'settled' : OPEN_STATUS[state],
    nextUrl: openNextUrl(deps, intent),
  })
}

/** What is waited for: an answer of the platform, the customer, or the bank. */
const OPEN_STATUS = {
  created: 'pending',
  requires_action: 'requires_action',
  processing: 'processing',
} as const satisfies Record<OpenState, TopupState['status']>

const WIRE_STATUS = {
  ...OPEN_STATUS,
  canceled: 'canceled',
  failed: 'failed',
  succeeded: 'settled',
  partly_refunded: 'settled',
  refunded: 'refunded',
} as const satisfies Record<IntentState, TopupState['status']>

function stateOf(deps: Pick<PaymentsDeps, 'sealer'>, intent: Intent): TopupState {
  return toState({
    ...intent,
    transactionId: `t_${intent.id}`,
    amount: intent.amountCents,
    refundedAmount: intent.refundedCents - intent.refundsFailedCents,
    card: { brand: intent.sourceBrand, last4: intent.sourceLast4 },
    status: WIRE_STATUS[intent.state],
    failure: intent.state === 'failed' ? errorCode(intent.failure) : null,
    nextUrl: openNextUrl(deps, intent),
  })
}

function errorCode(code: string | null): ErrorCode {
  return code !== null && code in ERRORS ? (code as ErrorCode) : 'payment_failed'
}
