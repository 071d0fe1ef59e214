import type Stripe from 'stripe'
import {
  type MethodRequest,
  type MethodVisit,
  PaymentRefused,
  type PlatformMethod,
  savedVisit,
} from '../port.ts'
import { methodOf } from './stripe-cards.ts'
import { askStripe, isMissing, isOvertaken, makeOnce } from './stripe-client.ts'
import { type CustomersDeps, withStripeCustomer } from './stripe-customers.ts'
import { failureOf } from './stripe-failures.ts'
import { CHECKOUT } from './stripe-intents.ts'

/** Cards of one customer that are looked through for the same one; no more are kept. */
const CARDS_MAX = 100

const ASKED_OF_PAGE = { expand: ['setup_intent.payment_method'] }
const ASKED_OF_SETUP = { expand: ['payment_method'] }

/** How Stripe begins the names of what a bank is asked by for later charges. */
const SETUP = 'seti_'

/**
 * Keeps a card for later charges. The same card again, though it was entered anew, is the one that is kept already. For a
 * new one its bank is asked, which may want the customer; a card that is entered at Stripe's page is asked for there.
 * @throws PaymentRefused when the bank refuses it, or it is no card.
 */
export function saveCard(deps: CustomersDeps, request: MethodRequest): Promise<MethodVisit> {
  const { customer: userId, source, was_paid: wasPaid = false } = request
  return askStripe(() =>
    withStripeCustomer(deps, userId, async customer => {
      if (source === CHECKOUT) return await beginCardPage(deps, customer, request)
      const kept = await sameCard(deps, customer, await deps.stripe.paymentMethods.retrieve(source))
      if (kept) return savedVisit(null, requireCard(kept))
      if (!wasPaid) return await setUp(deps, customer, request)
      const options = { idempotencyKey: `method:${request.idempotency_key}:${customer}` }
      return savedVisit(
        null,
        requireCard(await deps.stripe.paymentMethods.attach(source, { customer }, options)),
      )
    }),
  )
}

/** Asks a card's bank for later charges. An answer that Stripe gives again for the key is of then: what is so now is asked. */
async function setUp(
  deps: CustomersDeps,
  customer: string,
  { source, return_url, idempotency_key: idempotencyKey }: MethodRequest,
): Promise<MethodVisit> {
  const made = await makeOnce(`method:${idempotencyKey}:${customer}`, options =>
    deps.stripe.setupIntents.create(
      {
        customer,
        payment_method: source,
        allowed_payment_method_types: ['card'],
        usage: 'off_session',
        confirm: true,
        return_url,
        ...ASKED_OF_SETUP,
      },
      options,
    ),
  )
  return await readSetup(deps, made.id)
}

/** Forgets a card; one that is gone is forgotten. */
export async function forgetCard({ stripe }: CustomersDeps, methodId: string): Promise<void> {
  await askStripe(() => detach(stripe, methodId))
}

async function detach(stripe: Stripe, methodId: string): Promise<void> {
  try {
    await stripe.paymentMethods.detach(methodId)
  } catch (error) {
    // It belongs to nobody any more.
    if (!isMissing(error) && !isOvertaken(error)) throw error
  }
}

/** Begins a visit to Stripe's page, where a card is entered and kept without being charged. */
async function beginCardPage(
  { stripe }: CustomersDeps,
  customer: string,
  { currency, return_url, idempotency_key: idempotencyKey }: MethodRequest,
): Promise<MethodVisit> {
  const asked: Stripe.Checkout.SessionCreateParams = {
    mode: 'setup',
    customer,
    currency: currency.toLowerCase(),
    allowed_payment_method_types: ['card'],
    success_url: return_url,
    cancel_url: return_url,
  }
  const options = { idempotencyKey: `method-page:${idempotencyKey}:${customer}` }
  return pageOf(await stripe.checkout.sessions.create(asked, options), null)
}

/** What became of a visit: of a bank's question, or of Stripe's page. @throws PaymentRefused when there was none. */
export function readCardVisit(deps: CustomersDeps, visitId: string): Promise<MethodVisit> {
  return askStripe(() => (visitId.startsWith(SETUP) ? readSetup(deps, visitId) : readPage(deps, visitId)))
}

/** Ends such a visit; one that is over is answered as it is. @throws PaymentRefused when there was none. */
export function endCardVisit(deps: CustomersDeps, visitId: string): Promise<MethodVisit> {
  return askStripe(async () => {
    try {
      if (visitId.startsWith(SETUP)) await deps.stripe.setupIntents.cancel(visitId)
      else await deps.stripe.checkout.sessions.expire(visitId)
    } catch (error) {
      if (!isOvertaken(error)) throw error
    }
    return await readCardVisit(deps, visitId)
  })
}

async function readSetup(deps: CustomersDeps, setupId: string): Promise<MethodVisit> {
  const setup = await deps.stripe.setupIntents.retrieve(setupId, ASKED_OF_SETUP)
  if (setup.status === 'succeeded') {
    const method = await keptOf(deps, setup)
    return method ? savedVisit(setup.id, method) : { ...ENDED, visit_id: setup.id }
  }
  if (setup.status === 'requires_payment_method') {
    const failure = failureOf(setup.last_setup_error ?? {})
    return { ...ENDED, visit_id: setup.id, status: 'refused', failure }
  }
  if (setup.status === 'canceled') return { ...ENDED, visit_id: setup.id }
  return {
    ...ENDED,
    visit_id: setup.id,
    status: 'open',
    next_url: setup.next_action?.redirect_to_url?.url ?? null,
  }
}

async function readPage(deps: CustomersDeps, pageId: string): Promise<MethodVisit> {
  const page = await deps.stripe.checkout.sessions.retrieve(pageId, ASKED_OF_PAGE)
  const setup = typeof page.setup_intent === 'object' ? page.setup_intent : null
  return pageOf(page, page.status === 'complete' && setup ? await keptOf(deps, setup) : null)
}

/** The card that a customer's bank was asked for; null where it was taken off them since, and can never be charged again. */
async function keptOf(deps: CustomersDeps, setup: Stripe.SetupIntent): Promise<PlatformMethod | null> {
  const made = typeof setup.payment_method === 'object' ? setup.payment_method : null
  const customer = typeof setup.customer === 'string' ? setup.customer : setup.customer?.id
  const kept = made && customer ? await sameCard(deps, customer, made) : null
  if (!kept || !made) return null
  // The one that is kept already may be named by a payment: the new one goes.
  if (kept.id !== made.id) await detach(deps.stripe, made.id)
  return requireCard(kept)
}

const ENDED = { status: 'ended', next_url: null, method: null, failure: null } as const

function pageOf({ id, status, url }: Stripe.Checkout.Session, method: PlatformMethod | null): MethodVisit {
  if (method) return savedVisit(id, method)
  return { ...ENDED, visit_id: id, ...(status === 'open' && { status: 'open', next_url: url }) }
}

/**
 * The card that the customer has under the same fingerprint: the oldest, so that it is always the same one. Null where
 * they have none, also where this one was taken off them.
 */
async function sameCard(
  { stripe }: CustomersDeps,
  customer: string,
  { id, card }: Stripe.PaymentMethod,
): Promise<Stripe.PaymentMethod | null> {
  const fingerprint = card?.fingerprint
  const cards = await stripe.paymentMethods.list({ customer, type: 'card', limit: CARDS_MAX })
  const same = cards.data.filter(
    one => one.id === id || (fingerprint && one.card?.fingerprint === fingerprint),
  )
  return same.toSorted((one, other) => one.created - other.created)[0] ?? null
}

function requireCard(found: Stripe.PaymentMethod): PlatformMethod {
  const method = methodOf(found)
  if (method) return method
  throw new PaymentRefused(`${found.id} is no card`, 'card_declined')
}
