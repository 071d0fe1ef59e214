import { microFromCents } from '@berth/contract/money'
import { and, eq, inArray, sql } from 'drizzle-orm'
import type { Logger } from 'pino'
import { type PaymentDriver, PaymentRefused, type PlatformIntent } from '../../../drivers/payments/port.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { Database, Queryable, Transaction } from '../../../platform/database/database.ts'
import type { Events } from '../../../platform/events/events.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Ids } from '../../../platform/ids.ts'
import type { Sealer } from '../../../platform/sealer.ts'
import { invoiceTopup, type Seller } from '../documents/invoices/make-invoice.ts'
import { topUpPaid } from '../events.ts'
import { customerAccounts, openHouseAccount, postTransfer } from '../ledger/ledger.ts'
import { lockWallet } from '../ledger/wallet.ts'
import { postAll } from '../meters/posting.ts'
import { noteAutoPayment } from './auto-topup/outcomes.ts'
import { isStillWanted } from './auto-topup/wanted.ts'
import { noteCard } from './cards-seen.ts'
import { advance, isOpen, isPaid, OPEN_STATES, type Told } from './intent-states.ts'
import { noteMethodOfPayment } from './methods/of-payments.ts'
import { bookFailedRefund, bookRefund, repayOwed } from './refunds.ts'
import { paymentIntent } from './tables.ts'

export interface PaymentsDeps {
  db: Database
  clock: Clock
  ids: Ids
  log: Pick<Logger, 'warn' | 'error' | 'info'>
  payments: readonly PaymentDriver[]
  events: Pick<Events, 'emit'>
  /** Seals the addresses on which customers confirm. */
  sealer: Sealer
  /** The console's address, for platforms that send browsers back. */
  publicUrl(): string
  /** Who makes invoices out. */
  seller(): Seller
}

export type Intent = typeof paymentIntent.$inferSelect

/** @throws ApiError `payment_platform_unknown`. */
export function driverOf({ payments }: Pick<PaymentsDeps, 'payments'>, platformName: string): PaymentDriver {
  const driver = payments.find(({ name }) => name === platformName)
  if (driver) return driver
  throw new ApiError('payment_platform_unknown', { fields: [{ path: 'platform_name', rule: 'not_allowed' }] })
}

/** @throws ApiError `payments_not_set_up` where there is no way to pay at all; `payment_platform_unknown`. */
export function offeredDriver(
  { payments }: Pick<PaymentsDeps, 'payments'>,
  platformName: string,
): PaymentDriver {
  const offered = payments.filter(payment => payment.offered)
  if (offered.length === 0) throw new ApiError('payments_not_set_up')
  return driverOf({ payments: offered }, platformName)
}

/**
 * Carries an intent on as far as the platform lets it: makes it there, charges it, or looks at it; each step is
 * safe to repeat, and is booked before the next. Asks the platform outside any transaction.
 * What it refuses for good ends the payment, so that none stays open for ever.
 * @throws PaymentUnavailable when the platform did not answer: the row stays as it is.
 */
export async function carryOn(deps: PaymentsDeps, intent: Intent): Promise<Intent> {
  try {
    return await takeStep(deps, intent)
  } catch (error) {
    if (!(error instanceof PaymentRefused)) throw error
    deps.log.warn({ err: error, intentId: intent.id }, 'the payment platform refused a payment')
    const { failure } = error
    const sums = { refunded_cents: 0, refunds_failed_cents: 0 }
    return await book(deps, intent, { ...sums, intent_id: null, status: 'failed', failure, next_url: null })
  }
}

async function takeStep(deps: PaymentsDeps, intent: Intent): Promise<Intent> {
  const driver = driverOf(deps, intent.platformName)
  let answer = await ask(deps, driver, intent)
  if (answer.status === 'created') {
    // The platform's id is kept before it may charge.
    if (intent.platformIntentId === null) {
      const kept = await book(deps, intent, answer)
      // Another call has made one under another key: that one is charged, and this never.
      if (kept.platformIntentId !== answer.intent_id) return kept
    }
    answer = (await mayCharge(deps, intent))
      ? await driver.confirm({
          intent_id: answer.intent_id,
          return_url: returnUrl(deps, intent),
          // Nobody is there to be asked.
          ...(intent.origin === 'auto' ? { off_session: true } : {}),
        })
      : await driver.cancel(answer.intent_id)
  }
  return await book(deps, intent, answer)
}

/** Customers charge what they have begun; auto top-up what it would still begin, however long the platform was away. */
async function mayCharge(deps: PaymentsDeps, intent: Intent): Promise<boolean> {
  if (intent.origin !== 'auto') return true
  return await deps.db.transaction(async tx => {
    await lockWallet(tx, intent.userId)
    return await isStillWanted(tx, deps, intent)
  })
}

/** Where browsers come back to from a platform; the page asks the gateway what became of the payment. */
function returnUrl({ publicUrl }: Pick<PaymentsDeps, 'publicUrl'>, { id }: Pick<Intent, 'id'>): string {
  return new URL(`/payments?topup=t_${id}`, publicUrl()).href
}

async function ask(
  deps: Pick<PaymentsDeps, 'publicUrl'>,
  driver: PaymentDriver,
  intent: Intent,
): Promise<PlatformIntent> {
  if (intent.platformIntentId !== null) return await driver.retrieve(intent.platformIntentId)
  return await driver.createIntent({
    reference: intent.id,
    customer: intent.userId,
    amount_cents: intent.amountCents,
    currency: intent.currency,
    source: intent.source ?? '',
    return_url: returnUrl(deps, intent),
    ...(intent.savesMethod && { keeps: true }),
  })
}

/** Books an answer of the platform, in a transaction of its own. */
export async function book(
  deps: PaymentsDeps,
  { id, userId }: Pick<Intent, 'id' | 'userId'>,
  answer: Omit<PlatformIntent, 'intent_id'> & { intent_id: string | null },
): Promise<Intent> {
  return await deps.db.transaction(async tx => {
    await lockWallet(tx, userId)
    return (await apply(tx, deps, id, answer)).intent
  })
}

/**
 * Joins what the platform told with what is known, and moves the money that follows from it, each part once. Whoever
 * comes later, or tells what is known already, finds what was booked. Call it under the wallet's lock.
 * @returns The intent as it is now, and whether anything was news.
 */
export async function apply(
  tx: Transaction,
  deps: PaymentsDeps,
  id: string,
  told: Told & { intent_id: string | null },
): Promise<{ intent: Intent; moved: boolean }> {
  const [row] = await tx.select().from(paymentIntent).where(eq(paymentIntent.id, id))
  if (!row) throw new Error(`payment ${id} is gone`)
  if (row.platformIntentId !== null && told.intent_id !== null && row.platformIntentId !== told.intent_id) {
    deps.log.error({ intentId: id, told: told.intent_id }, 'a platform told of a payment under another id')
    return { intent: row, moved: false }
  }
  await noteCard(tx, deps, { ...row, fingerprint: told.fingerprint ?? null })
  const known = { ...row, nextUrl: openNextUrl(deps, row) }
  const { nextUrl, ...next } = advance(known, told, row.amountCents)
  const moved =
    next.state !== row.state ||
    next.refundsToldCents !== row.refundsToldCents ||
    next.refundsFailedToldCents !== row.refundsFailedToldCents ||
    next.disputesToldCents !== row.disputesToldCents ||
    next.disputesWonToldCents !== row.disputesWonToldCents
  const platformIntentId = row.platformIntentId ?? told.intent_id
  const card = chosenCard(row, told)
  const isSame =
    !moved && nextUrl === known.nextUrl && row.platformIntentId === platformIntentId && card === null
  if (isSame) return { intent: row, moved }
  const [changed = row] = await tx
    .update(paymentIntent)
    .set({
      ...next,
      ...sealNextUrl(deps, id, nextUrl),
      ...card,
      platformIntentId,
      ...(isPaid(next.state)
        ? {
            refundedCents: next.refundsToldCents,
            refundsFailedCents: next.refundsFailedToldCents,
            disputedCents: next.disputesToldCents,
            disputesWonCents: next.disputesWonToldCents,
          }
        : {}),
      ...(isOpen(next.state)
        ? {}
        : { source: null, lookAt: null, finishedAt: row.finishedAt ?? deps.clock.now() }),
    })
    .where(eq(paymentIntent.id, id))
    .returning()
  await moveMoney(tx, deps, row, changed)
  if (!isOpen(changed.state) && isNewEnd(row, changed)) {
    await noteMethodOfPayment(tx, deps, changed, told.paid_with ?? row.source)
    if (changed.origin === 'auto') await noteAutoPayment(tx, deps, changed)
  }
  return { intent: changed, moved }
}

/** Whether it has come to an end, or to the better end of those that it may come to one after the other. */
function isNewEnd(from: Intent, to: Intent): boolean {
  return isOpen(from.state) || (isPaid(to.state) && !isPaid(from.state))
}

/** Moves what follows from the way from one row to the next, in the order in which a platform does it. */
async function moveMoney(tx: Transaction, deps: PaymentsDeps, from: Intent, to: Intent): Promise<void> {
  if (isPaid(to.state) && !isPaid(from.state)) await credit(tx, deps, to)
  const gone = {
    refund: { fromCents: from.refundedCents, toCents: to.refundedCents },
    dispute: { fromCents: from.disputedCents, toCents: to.disputedCents },
  }
  const back = {
    refund: { fromCents: from.refundsFailedCents, toCents: to.refundsFailedCents },
    dispute: { fromCents: from.disputesWonCents, toCents: to.disputesWonCents },
  }
  for (const reason of ['refund', 'dispute'] as const) {
    if (gone[reason].toCents > gone[reason].fromCents) {
      await bookRefund(tx, deps, to, { reason, ...gone[reason] })
    }
    if (back[reason].toCents > back[reason].fromCents) {
      await bookFailedRefund(tx, deps, to, { reason, ...back[reason] })
    }
  }
}

/** What was paid with, once a platform whose own page asked for it says so; null where nothing is new in that. */
function chosenCard(row: Intent, { card }: Told): Pick<Intent, 'sourceBrand' | 'sourceLast4'> | null {
  if (!card || row.sourceLast4 !== '' || card.brand === row.sourceBrand) return null
  return { sourceBrand: card.brand, sourceLast4: card.last4 }
}

/** Where the customer goes on; null while nothing is asked. */
export function openNextUrl(
  { sealer }: Pick<PaymentsDeps, 'sealer'>,
  { id, nextUrlBox: box, nextUrlKeyId: keyId }: Intent,
): string | null {
  return box && keyId ? sealer.open({ box, keyId }, [id]) : null
}

function sealNextUrl({ sealer }: Pick<PaymentsDeps, 'sealer'>, id: string, url: string | null) {
  if (url === null) return { nextUrlBox: null, nextUrlKeyId: null }
  const { box: nextUrlBox, keyId: nextUrlKeyId } = sealer.seal(url, [id])
  return { nextUrlBox, nextUrlKeyId }
}

/** Adds what was paid to the wallet, and sends the receipt; what is owed of earlier refunds goes off first. */
async function credit(tx: Transaction, deps: PaymentsDeps, intent: Intent): Promise<void> {
  const { id, userId, amountCents, currency, sourceBrand: brand, sourceLast4: last4 } = intent
  // What ran before is posted first, so that what an empty wallet could not pay stays waived.
  await postAll(tx, deps, userId)
  await postTransfer(tx, deps, {
    key: `topup:${id}`,
    from: await openHouseAccount(tx, { clearing: intent.platformName }, currency),
    to: customerAccounts(userId).cash,
    amountMicro: microFromCents(amountCents),
    kind: 'topup',
    refId: id,
    userId,
    at: deps.clock.now(),
  })
  await repayOwed(tx, deps, userId)
  const at = (intent.finishedAt ?? deps.clock.now()).toISOString()
  // Of the transaction that books it, so that it is told once, whoever finishes it.
  await deps.events.emit(tx, topUpPaid, {
    userId,
    at,
    transactionId: `t_${id}`,
    amountCents,
    currency,
    card: { brand, last4 },
  })
  // Last: its number is locked until the transaction ends.
  await invoiceTopup(tx, deps, intent)
}

/** The condition that finds a customer's payments of which nothing is decided yet. */
export function isOpenOf(userId: string) {
  return and(eq(paymentIntent.userId, userId), inArray(paymentIntent.state, [...OPEN_STATES]))
}

/** Which of these ids are those of payments that are still open; what is no id of a payment is none. */
export async function openAmong(q: Pick<Queryable, 'select'>, ids: string[]): Promise<Set<string>> {
  const rows = await q
    .select({ id: paymentIntent.id })
    .from(paymentIntent)
    .where(and(inArray(sql`${paymentIntent.id}::text`, ids), inArray(paymentIntent.state, [...OPEN_STATES])))
  return new Set(rows.map(({ id }) => id))
}

/** Whether a customer has a payment of which it is not known yet if it was paid. */
export async function hasOpenTopup(tx: Transaction, userId: string): Promise<boolean> {
  const rows = await tx.select({ id: paymentIntent.id }).from(paymentIntent).where(isOpenOf(userId)).limit(1)
  return rows.length > 0
}
