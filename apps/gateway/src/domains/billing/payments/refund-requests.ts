import { microFromCents } from '@berth/contract/money'
import { and, asc, desc, eq, lte, sql } from 'drizzle-orm'
import { PaymentRefused, type PlatformIntent } from '../../../drivers/payments/port.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import { lockWallet, readTotals } from '../ledger/wallet.ts'
import { postAll } from '../meters/posting.ts'
import { isPaid } from './intent-states.ts'
import { book, driverOf, type Intent, type PaymentsDeps } from './intents.ts'
import { lookPauseMs } from './recovery.ts'
import { spendableCash } from './refunds.ts'
import { paymentIntent, refundRequest } from './tables.ts'

/** A refund that an operator asked for. */
export type RefundRequest = typeof refundRequest.$inferSelect

/** What an operator asked for cannot be done; the message is for them, in words. */
export class RefundRefused extends Error {}

/** Ends a transaction that only looks at what would become of it. */
class OnlyLooked extends Error {}

const PAYMENT_ID = /^t_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/
/** Requests of one round, and of one list. */
const REQUESTS_PER_ROUND_MAX = 20
const LISTED_MAX = 100

/** Makes refunds by operators (R6.5): asked for under an id, given back once for it, and finished after a crash. */
export function createRefunds(deps: PaymentsDeps) {
  return {
    /**
     * Gives back a payment, or a part of it. The same id again only finishes what it began.
     * @param input.paymentId `t_…`.
     * @param input.amountCents Left out: all that is left of the payment.
     * @returns The request: `done`, `refused`, or `asked` where the platform did not answer and recovery goes on.
     * @throws RefundRefused when there is no such payment, less is left of it, or its money was spent.
     */
    async create(input: { id: string; paymentId: string; amountCents?: number }): Promise<RefundRequest> {
      const request = await deps.db.transaction(tx => ask(tx, deps, input))
      return request.state === 'asked' ? await carryOut(deps, request) : request
    },

    /**
     * What {@link create} would ask for, with the same refusals. Nothing is changed.
     * @throws RefundRefused as `create` does.
     */
    async preview(input: { id: string; paymentId: string; amountCents?: number }): Promise<RefundRequest> {
      let request: RefundRequest | null = null
      try {
        await deps.db.transaction(async tx => {
          request = await ask(tx, deps, input)
          throw new OnlyLooked()
        })
      } catch (error) {
        if (!(error instanceof OnlyLooked)) throw error
      }
      if (request === null) throw new Error('a refund was looked at and is not there')
      return request
    },

    /** The newest requests, newest first. */
    list: (): Promise<RefundRequest[]> =>
      deps.db
        .select()
        .from(refundRequest)
        .orderBy(desc(refundRequest.createdAt), desc(refundRequest.id))
        .limit(LISTED_MAX),
  }
}

async function ask(
  tx: Transaction,
  deps: PaymentsDeps,
  { id, paymentId, amountCents }: { id: string; paymentId: string; amountCents?: number },
): Promise<RefundRequest> {
  const intentId = PAYMENT_ID.exec(paymentId)?.[1]
  const [found] = intentId ? await tx.select().from(paymentIntent).where(eq(paymentIntent.id, intentId)) : []
  if (!found) throw new RefundRefused('There is no such payment.')
  await lockWallet(tx, found.userId)
  const [earlier] = await tx.select().from(refundRequest).where(eq(refundRequest.id, id))
  if (earlier) {
    const same =
      earlier.intentId === found.id && (amountCents === undefined || earlier.amountCents === amountCents)
    if (same) return earlier
    throw new RefundRefused(
      `The id ${id} stands for another refund: ${earlier.amountCents} cents of t_${earlier.intentId}.`,
    )
  }
  // As it is now, under the lock.
  const [intent] = await tx.select().from(paymentIntent).where(eq(paymentIntent.id, found.id))
  if (!intent || !isPaid(intent.state))
    throw new RefundRefused('That payment is not settled: nothing can be given back.')
  const leftCents = await leftOf(tx, intent)
  const cents = amountCents ?? leftCents
  if (cents <= 0 || cents > leftCents) {
    throw new RefundRefused(`Of that payment ${leftCents} cents are left that can be given back.`)
  }
  await requireCash(tx, deps, intent, cents)
  const now = deps.clock.now()
  const lookAt = new Date(now.getTime() + lookPauseMs(0))
  const values = {
    id,
    intentId: intent.id,
    userId: intent.userId,
    amountCents: cents,
    lookAt,
    createdAt: now,
  }
  const [made] = await tx
    .insert(refundRequest)
    .values({ ...values, state: 'asked' })
    .returning()
  if (!made) throw new Error('an insert gave no row')
  return made
}

/** What of a payment is neither given back, nor taken for a dispute, nor asked for by another request. */
async function leftOf(tx: Transaction, intent: Intent): Promise<number> {
  const { amountCents, refundedCents, refundsFailedCents, disputedCents, disputesWonCents } = intent
  const open = await openCents(tx, eq(refundRequest.intentId, intent.id))
  return amountCents - (refundedCents - refundsFailedCents) - (disputedCents - disputesWonCents) - open
}

/** Cash that was spent cannot be given back: the house would have a claim on the customer, which nobody asked for. */
async function requireCash(
  tx: Transaction,
  deps: PaymentsDeps,
  { userId }: Intent,
  cents: number,
): Promise<void> {
  await postAll(tx, deps, userId)
  const cash = spendableCash(await readTotals(tx, deps.clock, userId))
  const open = await openCents(tx, eq(refundRequest.userId, userId))
  const freeMicro = cash - microFromCents(open)
  if (microFromCents(cents) <= freeMicro) return
  const freeCents = freeMicro < 0n ? 0n : freeMicro / microFromCents(1)
  throw new RefundRefused(
    `Cash that was spent cannot be refunded: the customer has ${freeCents} cents of cash that are neither spent nor set aside.`,
  )
}

async function openCents(tx: Transaction, of: ReturnType<typeof eq>): Promise<number> {
  const [row] = await tx
    .select({ cents: sql<string>`coalesce(sum(${refundRequest.amountCents}), 0)` })
    .from(refundRequest)
    .where(and(of, eq(refundRequest.state, 'asked')))
  return Number(row?.cents ?? 0)
}

/** Asks the platform, books what it says, and writes down that it is done; each step is safe to repeat. */
async function carryOut(deps: PaymentsDeps, request: RefundRequest): Promise<RefundRequest> {
  const [intent] = await deps.db.select().from(paymentIntent).where(eq(paymentIntent.id, request.intentId))
  if (!intent?.platformIntentId) throw new Error(`payment ${request.intentId} has no id of its platform`)
  const driver = driverOf(deps, intent.platformName)
  let answer: PlatformIntent
  try {
    answer = await driver.refund({
      intent_id: intent.platformIntentId,
      idempotency_key: request.id,
      amount_cents: request.amountCents,
    })
  } catch (error) {
    if (error instanceof PaymentRefused) return await decide(deps, request, 'refused', error.message)
    // Whatever else went wrong: it may have been given back, and what is called refused is asked for anew.
    deps.log.warn(
      { err: error, refund: request.id },
      'the platform did not answer; the refund is tried again',
    )
    return request
  }
  // What fails from here on leaves the request open: the platform has given the money back.
  await book(deps, intent, answer)
  return await decide(deps, request, 'done', null)
}

async function decide(
  { db, clock }: PaymentsDeps,
  request: RefundRequest,
  state: 'done' | 'refused',
  failure: string | null,
): Promise<RefundRequest> {
  const set = { state, failure, lookAt: null, finishedAt: clock.now() }
  const [row = request] = await db
    .update(refundRequest)
    .set(set)
    .where(and(eq(refundRequest.id, request.id), eq(refundRequest.state, 'asked')))
    .returning()
  return row
}

/** Finishes refunds whose outcome is not known yet; one that fails is logged and left for the next time. */
export async function recoverRefunds(deps: PaymentsDeps, signal?: AbortSignal): Promise<void> {
  const now = deps.clock.now()
  const due = await deps.db
    .select()
    .from(refundRequest)
    .where(and(eq(refundRequest.state, 'asked'), lte(refundRequest.lookAt, now)))
    .orderBy(asc(refundRequest.lookAt))
    .limit(REQUESTS_PER_ROUND_MAX)
  for (const request of due) {
    if (signal?.aborted) return
    try {
      const lookAt = new Date(now.getTime() + lookPauseMs(now.getTime() - request.createdAt.getTime()))
      await deps.db
        .update(refundRequest)
        .set({ lookAt })
        .where(and(eq(refundRequest.id, request.id), eq(refundRequest.state, 'asked')))
      await carryOut(deps, request)
    } catch (error) {
      deps.log.error({ err: error, refund: request.id }, 'a refund could not be finished; it stays open')
    }
  }
}
