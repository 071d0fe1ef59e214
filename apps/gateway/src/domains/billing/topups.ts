import type { topup as topupCall } from '@berth/contract/billing'
import type { CallData } from '@berth/contract/call'
import { ERRORS, type ErrorCode } from '@berth/contract/errors'
import { type Currency, TOPUP_CENTS_MAX, TOPUP_CENTS_MIN } from '@berth/contract/limits'
import { microFromCents } from '@berth/contract/money'
import { and, asc, eq, gt } from 'drizzle-orm'
import type { Logger } from 'pino'
import { type ChargeAnswer, type PaymentDriver, PaymentUnavailable } from '../../drivers/payments/port.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import type { Ids } from '../../platform/ids.ts'
import type { Notifications } from '../notifications/notifications.ts'
import { customerAccounts, openHouseAccount, postTransfer } from './ledger.ts'
import { topup } from './tables.ts'
import { lockWallet, readTotals } from './wallet.ts'

interface TopupDeps {
  db: Database
  clock: Clock
  ids: Ids
  log: Pick<Logger, 'warn' | 'error' | 'info'>
  payments: readonly PaymentDriver[]
  notices: Pick<Notifications, 'topUpReceipt'>
  /** Throws for a deleted account, and holds back its deletion until the transaction ends. */
  requireOpen(tx: Transaction, userId: string): Promise<void>
}

export interface TopupRequest {
  userId: string
  /** Unique to the customer: the same key is the same top-up, however often it is sent (B3). */
  idempotencyKey: string
  amountCents: number
  currency: Currency
  platformName: string
  /** What the customer entered. Only what the driver makes of it is stored. */
  source: string
}

export type TopupAnswer = CallData<typeof topupCall>
type Topup = typeof topup.$inferSelect

/** Top-ups that recovery reads at once. */
const RECOVERY_PAGE = 100

/**
 * Charges a source once and adds the amount to the wallet. The row is written before the platform is asked, and
 * the platform is asked with the row's id as its key, so that a crash at any point leaves a row which
 * `recoverTopups` (or the same call again) finishes with the same one charge (B3).
 * @throws ApiError the platform's refusal; `payment_pending` when the platform did not answer: then it is not known
 *   whether it charged, the row stays open, and the same key carries on with it.
 */
export async function topUp(deps: TopupDeps, request: TopupRequest): Promise<TopupAnswer> {
  const { driver, reference, label } = await checkRequest(deps, request)
  const row = await findOrCreate(deps, request, reference, label)
  if (row.state !== 'created') return answerOf(row)
  try {
    return answerOf(await finish(deps, driver, row))
  } catch (error) {
    if (!(error instanceof PaymentUnavailable)) throw error
    deps.log.warn(
      { err: error, topupId: row.id },
      'the payment platform did not answer; the top-up stays open',
    )
    throw new ApiError('payment_pending', { cause: error })
  }
}

/**
 * Finishes top-ups whose outcome is not known yet: asks the platform again with the same key. Safe at any time
 * and in any number of replicas, also beside the call that made the row.
 * @returns How many it finished. One that fails is logged and left for the next time.
 */
export async function recoverTopups(deps: TopupDeps, signal?: AbortSignal): Promise<number> {
  let finished = 0
  let after: string | null = null
  for (;;) {
    const page: Topup[] = await openTopups(deps.db, after)
    for (const row of page) {
      if (signal?.aborted) return finished
      after = row.id
      try {
        await finish(deps, driverOf(deps, row.platformName), row)
        finished += 1
      } catch (error) {
        deps.log.warn({ err: error, topupId: row.id }, 'a top-up could not be finished; it stays open')
      }
    }
    if (page.length < RECOVERY_PAGE) return finished
  }
}

/** Refuses what need not be tried; nothing is stored of it. */
async function checkRequest(
  deps: TopupDeps,
  request: TopupRequest,
): Promise<{ driver: PaymentDriver; reference: string; label: string }> {
  const driver = driverOf(deps, request.platformName)
  const { amountCents } = request
  if (!Number.isInteger(amountCents) || amountCents < TOPUP_CENTS_MIN || amountCents > TOPUP_CENTS_MAX) {
    throw new ApiError('invalid_amount', { fields: [{ path: 'amount', rule: 'invalid_amount' }] })
  }
  const { currency } = await readTotals(deps.db, request.userId)
  if (request.currency !== currency || !driver.currencies.includes(currency)) {
    throw new ApiError('currency_mismatch', {
      values: { currency },
      fields: [{ path: 'currency', rule: 'not_allowed' }],
    })
  }
  const source = driver.identify(request.source)
  if (!source.accepted) {
    throw new ApiError(source.failure, { fields: [{ path: 'source', rule: 'not_allowed' }] })
  }
  return { driver, reference: source.reference, label: source.label }
}

function driverOf({ payments }: Pick<TopupDeps, 'payments'>, platformName: string): PaymentDriver {
  const driver = payments.find(({ name }) => name === platformName)
  if (driver) return driver
  throw new ApiError('payment_platform_unknown', { fields: [{ path: 'platform_name', rule: 'not_allowed' }] })
}

/**
 * The row of this key: made now, or by an earlier try with the same content. Made under the wallet's lock, as an
 * account is deleted: either the deletion sees the open top-up, or the top-up finds the account deleted.
 */
async function findOrCreate(
  { db, clock, ids, requireOpen }: TopupDeps,
  request: TopupRequest,
  source: string,
  sourceLabel: string,
): Promise<Topup> {
  const { userId, idempotencyKey, amountCents, currency, platformName } = request
  const [made] = await db.transaction(async tx => {
    await lockWallet(tx, userId)
    await requireOpen(tx, userId)
    return await tx
      .insert(topup)
      .values({
        id: ids.uuid(),
        userId,
        idempotencyKey,
        amountCents,
        currency,
        platformName,
        source,
        sourceLabel,
        state: 'created',
        createdAt: clock.now(),
      })
      .onConflictDoNothing({ target: [topup.userId, topup.idempotencyKey] })
      .returning()
  })
  if (made) return made
  const [found] = await db
    .select()
    .from(topup)
    .where(and(eq(topup.userId, userId), eq(topup.idempotencyKey, idempotencyKey)))
  if (!found) throw new Error('a top-up was neither made nor found')
  const same =
    found.amountCents === amountCents &&
    found.currency === currency &&
    found.platformName === platformName &&
    found.sourceLabel === sourceLabel
  if (!same) throw new ApiError('idempotency_key_reused')
  return found
}

/** Asks the platform, outside any transaction, and books its answer. */
async function finish(deps: TopupDeps, driver: PaymentDriver, row: Topup): Promise<Topup> {
  const answer = await driver.charge({
    idempotency_key: row.id,
    amount_cents: row.amountCents,
    currency: row.currency,
    source: row.source ?? '',
  })
  return await deps.db.transaction(tx => book(tx, deps, row.id, row.userId, answer))
}

/** Books the platform's answer once; whoever comes later finds what was booked. */
async function book(
  tx: Transaction,
  deps: TopupDeps,
  id: string,
  userId: string,
  answer: ChargeAnswer,
): Promise<Topup> {
  await lockWallet(tx, userId)
  const [row] = await tx.select().from(topup).where(eq(topup.id, id))
  if (!row) throw new Error(`top-up ${id} is gone`)
  if (row.state !== 'created') return row
  if (answer.charged) {
    await postTransfer(tx, deps, {
      key: `topup:${id}`,
      from: await openHouseAccount(tx, { clearing: row.platformName }, row.currency),
      to: customerAccounts(userId).cash,
      amountMicro: microFromCents(row.amountCents),
      kind: 'topup',
      refId: id,
      userId,
    })
  }
  const [booked] = await tx
    .update(topup)
    .set({
      ...(answer.charged
        ? { state: 'settled', chargeId: answer.charge_id }
        : { state: 'failed', failure: answer.failure }),
      source: null,
      finishedAt: deps.clock.now(),
    })
    .where(eq(topup.id, id))
    .returning()
  const finished = booked ?? row
  if (answer.charged) await sendReceipt(tx, deps, finished)
  return finished
}

/** Of the transaction that books it, so that there is one for each top-up, whoever finishes it. */
async function sendReceipt(tx: Transaction, { notices, clock }: TopupDeps, row: Topup): Promise<void> {
  const { userId, amountCents, currency, sourceLabel: paidWith } = row
  const at = row.finishedAt ?? clock.now()
  await notices.topUpReceipt(tx, {
    userId,
    transactionId: `t_${row.id}`,
    amountCents,
    currency,
    paidWith,
    at,
  })
}

/** Whether a customer has a top-up of which it is not known yet if it was paid. */
export async function hasOpenTopup(tx: Transaction, userId: string): Promise<boolean> {
  const rows = await tx
    .select({ id: topup.id })
    .from(topup)
    .where(and(eq(topup.userId, userId), eq(topup.state, 'created')))
    .limit(1)
  return rows.length > 0
}

function answerOf(row: Topup): TopupAnswer {
  if (row.state === 'settled') {
    return {
      transaction_id: `t_${row.id}`,
      amount: row.amountCents,
      currency: row.currency,
      status: 'settled',
    }
  }
  throw new ApiError(isErrorCode(row.failure) ? row.failure : 'payment_failed')
}

function isErrorCode(code: string | null): code is ErrorCode {
  return code !== null && code in ERRORS
}

async function openTopups(db: Database, after: string | null): Promise<Topup[]> {
  return await db
    .select()
    .from(topup)
    .where(and(eq(topup.state, 'created'), after === null ? undefined : gt(topup.id, after)))
    .orderBy(asc(topup.id))
    .limit(RECOVERY_PAGE)
}
