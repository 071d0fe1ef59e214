import type Stripe from 'stripe'
import {
  type ConfirmRequest,
  type IntentRequest,
  PaymentRefused,
  PaymentUnavailable,
  type PlatformIntent,
  type RefundRequest,
  type SumsBack,
} from '../port.ts'
import { cardOfCharge, fingerprintOfCharge } from './stripe-cards.ts'
import {
  askStripe,
  isCardRefusal,
  isMissing,
  isOtherQuestion,
  isOvertaken,
  makeOnce,
} from './stripe-client.ts'
import { type CustomersDeps, withStripeCustomer } from './stripe-customers.ts'
import { failureOf } from './stripe-failures.ts'

/** What `identify` makes of a card that is entered at Stripe's own page. */
export const CHECKOUT = 'checkout'

/** Refunds, and disputes, of one payment that are read. */
const BACK_MAX = 1_000

/**
 * Has Stripe keep a card with the payment that it is entered for, and ask the bank for later ones at once. One that was
 * paid with otherwise is of no use any more.
 */
const KEEPS = { setup_future_usage: 'off_session' } as const

const ASKED = { expand: ['latest_charge'] }
const ASKED_OF_PAGE = { expand: ['payment_intent.latest_charge'] }

/** A payment at Stripe, with what tells whose it is. */
export interface Found {
  intent: PlatformIntent
  /** Null where the payment is none of ours. */
  reference: string | null
  /** Whether its card is entered at Stripe's page: then `intent_id` of the row is that of the page. */
  isHosted: boolean
}

/**
 * Makes a payment. With a saved card it is a payment intent, which `confirmPayment` charges; else a page of Stripe
 * Checkout, where the customer pays.
 */
export function createPayment(deps: CustomersDeps, request: IntentRequest): Promise<PlatformIntent> {
  const { reference, customer: userId, amount_cents: amount, source, return_url, keeps = false } = request
  const currency = request.currency.toLowerCase()
  return askStripe(() =>
    withStripeCustomer(deps, userId, async customer => {
      // Of a second customer it is another question, so that it has another key.
      const key = `payment:${reference}:${customer}`
      if (source !== CHECKOUT) {
        const made = await makeOnce(key, options =>
          deps.stripe.paymentIntents.create(
            {
              amount,
              currency,
              customer,
              payment_method: source,
              allowed_payment_method_types: ['card'],
              metadata: { reference },
              ...(keeps && KEEPS),
            },
            options,
          ),
        )
        return intentOf(made, null)
      }
      const asked = checkoutOf({ reference, customer, keeps }, { currency, unit_amount: amount }, return_url)
      return pageOf(
        await makeOnce(key, options => deps.stripe.checkout.sessions.create(asked, options)),
        null,
      )
    }),
  )
}

/** A page of Checkout for one amount; what comes back is in the currency and the amount that were asked for. */
function checkoutOf(
  { reference, customer, keeps }: { reference: string; customer: string; keeps: boolean },
  price: { currency: string; unit_amount: number },
  returnUrl: string,
): Stripe.Checkout.SessionCreateParams {
  return {
    mode: 'payment',
    customer,
    line_items: [{ quantity: 1, price_data: { ...price, product_data: { name: 'Credits' } } }],
    adaptive_pricing: { enabled: false },
    client_reference_id: reference,
    metadata: { reference },
    payment_intent_data: { metadata: { reference, entry: CHECKOUT }, ...(keeps && KEEPS) },
    success_url: returnUrl,
    cancel_url: returnUrl,
  }
}

/**
 * Charges a payment that waits for it. It has no key of its own: Stripe charges an intent once, and an answer that was
 * kept for a key would be given again after the intent has moved on.
 */
export async function confirmPayment(
  deps: CustomersDeps,
  { intent_id, return_url, off_session }: ConfirmRequest,
): Promise<PlatformIntent> {
  if (isPage(intent_id)) return await readPayment(deps, intent_id)
  try {
    return await askStripe(async () => {
      try {
        const where = off_session ? { off_session: true } : { return_url }
        return intentOf(await deps.stripe.paymentIntents.confirm(intent_id, { ...where, ...ASKED }), null)
      } catch (error) {
        if (!isCardRefusal(error) && !isOvertaken(error)) throw error
        return await mustMove(deps, intent_id, failureOf(error as Stripe.errors.StripeError))
      }
    })
  } catch (error) {
    if (error instanceof PaymentRefused) return await mustMove(deps, intent_id, error.failure)
    throw error
  }
}

/** An intent that was refused: as it is now, and ended where it would wait for ever. */
async function mustMove(
  deps: CustomersDeps,
  intentId: string,
  failure: PaymentRefused['failure'],
): Promise<PlatformIntent> {
  const now = await readPayment(deps, intentId)
  if (now.status !== 'created') return now
  const ended = await cancelPayment(deps, intentId)
  return ended.status === 'canceled' ? { ...ended, status: 'failed', failure } : ended
}

/** A payment as it is now. @throws PaymentRefused when there is none of that id. */
export async function readPayment(deps: CustomersDeps, id: string): Promise<PlatformIntent> {
  const found = await findPayment(deps, id)
  if (found) return found.intent
  throw new PaymentRefused(`Stripe has no payment ${id}`, 'payment_failed')
}

/**
 * Looks a payment up by its own id, or by its page's.
 * @param withSums Whether what went back is read in any case; else only where the charge says that something did.
 * @returns Null when there is none.
 */
export function findPayment(deps: CustomersDeps, id: string, withSums = false): Promise<Found | null> {
  const { stripe } = deps
  return askStripe(async () => {
    try {
      if (isPage(id)) {
        const page = await stripe.checkout.sessions.retrieve(id, ASKED_OF_PAGE)
        const paid = typeof page.payment_intent === 'object' ? page.payment_intent : null
        const intent = pageOf(page, paid && (await sumsOf(deps, paid, withSums)))
        return { intent, reference: page.metadata?.reference ?? null, isHosted: true }
      }
      const payment = await stripe.paymentIntents.retrieve(id, ASKED)
      const { reference = null, entry } = payment.metadata
      const intent = intentOf(payment, await sumsOf(deps, payment, withSums))
      return { intent, reference, isHosted: entry === CHECKOUT }
    } catch (error) {
      if (isMissing(error)) return null
      throw error
    }
  })
}

/** Ends a payment that waits; one that has moved on is answered as it is. */
export async function cancelPayment(deps: CustomersDeps, id: string): Promise<PlatformIntent> {
  await askStripe(async () => {
    try {
      if (isPage(id)) await deps.stripe.checkout.sessions.expire(id)
      else await deps.stripe.paymentIntents.cancel(id)
    } catch (error) {
      if (!isOvertaken(error)) throw error
    }
  })
  return await readPayment(deps, id)
}

/**
 * Gives back once for each key. Stripe forgets its keys after a day, so that the refund bears ours as well and is looked
 * for before it is made.
 * @throws PaymentRefused when Stripe does not, such as for more than is left; never once something was given back.
 */
export async function refundPayment(deps: CustomersDeps, request: RefundRequest): Promise<PlatformIntent> {
  const { intent_id, amount_cents: amount } = request
  const payment_intent = isPage(intent_id) ? await paymentOfPage(deps, intent_id) : intent_id
  await askStripe(() => refundOnce(deps, request.idempotency_key, { payment_intent, amount }))
  const found = await findPayment(deps, intent_id, true).catch((error: unknown) => {
    if (!(error instanceof PaymentRefused)) throw error
    throw new PaymentUnavailable('what Stripe gave back cannot be read', { cause: error })
  })
  if (!found) throw new PaymentUnavailable(`what was given back of ${intent_id} cannot be read`)
  return found.intent
}

async function refundOnce(
  { stripe }: CustomersDeps,
  request: string,
  asked: { payment_intent: string; amount: number },
): Promise<void> {
  const { payment_intent } = asked
  const made = await stripe.refunds
    .list({ payment_intent, limit: 100 })
    .autoPagingToArray({ limit: BACK_MAX })
  if (made.some(({ metadata }) => metadata?.request === request)) return
  const options = { idempotencyKey: `refund:${request}` }
  try {
    await stripe.refunds.create({ ...asked, metadata: { request } }, options)
  } catch (error) {
    if (!isOtherQuestion(error)) throw error
    // It was made by a version that did not write its own key into it; Stripe gives that one again.
    await stripe.refunds.create(asked, options)
  }
}

async function paymentOfPage({ stripe }: CustomersDeps, pageId: string): Promise<string> {
  const { payment_intent } = await askStripe(() => stripe.checkout.sessions.retrieve(pageId))
  const id = typeof payment_intent === 'string' ? payment_intent : payment_intent?.id
  if (id) return id
  throw new PaymentRefused(`nothing was paid at ${pageId}`, 'payment_failed')
}

function isPage(id: string): boolean {
  return id.startsWith('cs_')
}

const NOTHING_BACK: SumsBack = { refunded_cents: 0, refunds_failed_cents: 0 }

/** What went back, in sums that never fall: Stripe's own fall when a refund fails, so that each refund is counted. */
async function sumsOf(
  { stripe }: CustomersDeps,
  { id: payment_intent, latest_charge }: Stripe.PaymentIntent,
  always: boolean,
): Promise<SumsBack> {
  const charge = typeof latest_charge === 'object' ? latest_charge : null
  const isAny = charge !== null && (charge.amount_refunded > 0 || charge.disputed)
  if (!isAny && !always) return NOTHING_BACK
  const list = { payment_intent, limit: 100 }
  const refunds = await stripe.refunds.list(list).autoPagingToArray({ limit: BACK_MAX })
  const disputes = await stripe.disputes.list(list).autoPagingToArray({ limit: BACK_MAX })
  // An inquiry asks for nothing yet, and one that was prevented never does.
  const taken = disputes.filter(({ status }) => !status.startsWith('warning_') && status !== 'prevented')
  return {
    refunded_cents: sum(refunds),
    refunds_failed_cents: sum(refunds.filter(({ status }) => status === 'failed' || status === 'canceled')),
    disputed_cents: sum(taken),
    disputes_won_cents: sum(taken.filter(({ status }) => status === 'won')),
  }
}

function sum(rows: readonly { amount: number }[]): number {
  return rows.reduce((all, { amount }) => all + amount, 0)
}

type Moved = Pick<PlatformIntent, 'status' | 'failure' | 'next_url'>

/** A payment intent in the words of the port. */
function intentOf(payment: Stripe.PaymentIntent, sums: SumsBack | null): PlatformIntent {
  const charge = typeof payment.latest_charge === 'object' ? payment.latest_charge : null
  const known = {
    intent_id: payment.id,
    card: cardOfCharge(charge),
    paid_with: keptOf(payment),
    fingerprint: fingerprintOfCharge(charge),
  }
  return { ...NOTHING_BACK, ...sums, ...movedOf(payment), ...known }
}

/** The card of a payment, where it is kept with that. */
function keptOf({ setup_future_usage, payment_method: method }: Stripe.PaymentIntent): string | null {
  if (setup_future_usage !== KEEPS.setup_future_usage) return null
  return typeof method === 'string' ? method : (method?.id ?? null)
}

function movedOf({ status, last_payment_error: error, next_action }: Stripe.PaymentIntent): Moved {
  const still = { failure: null, next_url: null }
  switch (status) {
    case 'requires_confirmation':
      return { ...still, status: 'created' }
    case 'requires_action':
      return { ...still, status: 'requires_action', next_url: next_action?.redirect_to_url?.url ?? null }
    case 'succeeded':
      return { ...still, status: 'succeeded' }
    case 'canceled':
      return { ...still, status: 'canceled' }
    case 'processing':
      return { ...still, status: 'processing' }
    // Of what was not asked for (money that is only reserved) nothing is known but that it is not ours yet.
    case 'requires_capture':
      return { ...still, status: 'processing' }
    default:
      // It would take another card, and nobody gives it one: this payment has failed.
      return { ...still, status: 'failed', failure: error ? failureOf(error) : 'payment_failed' }
  }
}

/** A page of Checkout in the words of the port; what was declined there may be tried there again. */
function pageOf(page: Stripe.Checkout.Session, sums: SumsBack | null): PlatformIntent {
  const paid = typeof page.payment_intent === 'object' ? page.payment_intent : null
  const charge = typeof paid?.latest_charge === 'object' ? paid.latest_charge : null
  const paid_with = paid && keptOf(paid)
  const known = {
    ...{ ...NOTHING_BACK, ...sums, intent_id: page.id, card: cardOfCharge(charge), paid_with },
    fingerprint: fingerprintOfCharge(charge),
  }
  if (page.status === 'open') {
    return { ...known, status: 'requires_action', failure: null, next_url: page.url }
  }
  if (page.status === 'expired') return { ...known, status: 'canceled', failure: null, next_url: null }
  if (page.payment_status !== 'unpaid') {
    return { ...known, status: 'succeeded', failure: null, next_url: null }
  }
  const moved = paid ? movedOf(paid) : null
  if (moved?.status === 'failed' || moved?.status === 'canceled') {
    return { ...known, status: 'failed', failure: moved.failure ?? 'payment_failed', next_url: null }
  }
  return { ...known, status: 'processing', failure: null, next_url: null }
}
