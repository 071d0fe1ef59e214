import type Stripe from 'stripe'
import {
  type MethodPage,
  type MethodPageRequest,
  type MethodRequest,
  PaymentRefused,
  type PlatformMethod,
} from '../port.ts'
import { methodOf } from './stripe-cards.ts'
import { askStripe, isMissing, isOvertaken } from './stripe-client.ts'
import { type CustomersDeps, withStripeCustomer } from './stripe-customers.ts'

/** Cards of one customer that are looked through for the same one; no more are kept. */
const CARDS_MAX = 100

const ASKED = { expand: ['setup_intent.payment_method'] }

/**
 * Keeps a card for later charges. The same card again, though it was entered anew, is the one that is kept already.
 * @throws PaymentRefused when the bank refuses it, or it is no card.
 */
export function saveCard(deps: CustomersDeps, request: MethodRequest): Promise<PlatformMethod> {
  const { customer: userId, source, idempotency_key: idempotencyKey } = request
  return askStripe(() =>
    withStripeCustomer(deps, userId, async customer => {
      const kept = await sameCard(deps, customer, await deps.stripe.paymentMethods.retrieve(source))
      if (kept) return requireCard(kept)
      const options = { idempotencyKey: `method:${idempotencyKey}:${customer}` }
      return requireCard(await deps.stripe.paymentMethods.attach(source, { customer }, options))
    }),
  )
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
export function beginCardPage(deps: CustomersDeps, request: MethodPageRequest): Promise<MethodPage> {
  const { customer: userId, currency, idempotency_key: idempotencyKey, return_url } = request
  return askStripe(() =>
    withStripeCustomer(deps, userId, async customer =>
      pageOf(
        await deps.stripe.checkout.sessions.create(
          {
            mode: 'setup',
            customer,
            currency: currency.toLowerCase(),
            allowed_payment_method_types: ['card'],
            success_url: return_url,
            cancel_url: return_url,
          },
          { idempotencyKey: `method-page:${idempotencyKey}:${customer}` },
        ),
        null,
      ),
    ),
  )
}

/** What became of such a visit. @throws PaymentRefused when there was none. */
export function readCardPage(deps: CustomersDeps, pageId: string): Promise<MethodPage> {
  return askStripe(async () => {
    const page = await deps.stripe.checkout.sessions.retrieve(pageId, ASKED)
    const setup = typeof page.setup_intent === 'object' ? page.setup_intent : null
    const made = typeof setup?.payment_method === 'object' ? setup.payment_method : null
    const customer = typeof page.customer === 'string' ? page.customer : page.customer?.id
    if (page.status !== 'complete' || !made || !customer) return pageOf(page, null)
    const kept = await sameCard(deps, customer, made)
    // It was taken off the customer since: it can never be charged again.
    if (!kept) return pageOf(page, null)
    // The one that is kept already may be named by a payment: the new one goes.
    if (kept.id !== made.id) await detach(deps.stripe, made.id)
    return pageOf(page, requireCard(kept))
  })
}

/** Ends such a visit; one that is over is answered as it is. @throws PaymentRefused when there was none. */
export async function endCardPage(deps: CustomersDeps, pageId: string): Promise<MethodPage> {
  await askStripe(async () => {
    try {
      await deps.stripe.checkout.sessions.expire(pageId)
    } catch (error) {
      if (!isOvertaken(error)) throw error
    }
  })
  return await readCardPage(deps, pageId)
}

function pageOf({ id, status, url }: Stripe.Checkout.Session, method: PlatformMethod | null): MethodPage {
  if (method) return { page_id: id, status: 'saved', next_url: null, method }
  const isOpen = status === 'open'
  return { page_id: id, status: isOpen ? 'open' : 'ended', next_url: isOpen ? url : null, method: null }
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
