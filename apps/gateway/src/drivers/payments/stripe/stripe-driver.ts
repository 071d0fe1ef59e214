import { CURRENCIES } from '@berth/contract/limits'
import type { Clock } from '../../../platform/clock.ts'
import type { Config } from '../../../platform/config/config.ts'
import type { Database } from '../../../platform/database/database.ts'
import type { PageSources } from '../../../platform/http/page-security.ts'
import type { Logger } from '../../../platform/log.ts'
import type { PaymentDriver, SourceAnswer } from '../port.ts'
import { createStripeClient } from './stripe-client.ts'
import { forgetStripeCustomer } from './stripe-customers.ts'
import { completeEvent, readStripeEvents, readStripeWebhook } from './stripe-events.ts'
import {
  CHECKOUT,
  cancelPayment,
  confirmPayment,
  createPayment,
  readPayment,
  refundPayment,
} from './stripe-intents.ts'
import { endCardVisit, forgetCard, readCardVisit, saveCard } from './stripe-methods.ts'

const NAME = 'stripe'
const DISPLAY_NAME = 'Stripe'
/**
 * What Stripe's script needs of a page that has a frame of Stripe's in it, by published examples (decision 0134); but for what
 * finds addresses on maps, of which nothing is asked.
 */
const PAGE_SOURCES: PageSources = {
  script: ['https://js.stripe.com', 'https://*.js.stripe.com'],
  frame: ['https://js.stripe.com', 'https://*.js.stripe.com', 'https://hooks.stripe.com'],
  style: [],
  connect: ['https://api.stripe.com'],
}
const METHOD = /^pm_[A-Za-z0-9_]{1,100}$/

interface StripeDriverDeps {
  db: Database
  clock: Clock
  log: Pick<Logger, 'warn' | 'error'>
  settings: NonNullable<Config['stripe']>
  /** Whether customers may pay by it. */
  offered: boolean
}

/**
 * Payments by Stripe. Cards are entered at Stripe's own page (Checkout), in a frame of Stripe's in ours, or are saved there
 * already: no number ever passes through here. What became of a payment is asked from Stripe; a webhook and the list of events only say of
 * which payment to ask.
 * @param given The database keeps which customer is which at Stripe, and nothing else.
 */
export function createStripeDriver({ settings, offered, ...given }: StripeDriverDeps): PaymentDriver {
  const { live, webhookSecret } = settings
  const deps = { ...given, live, webhookSecret, stripe: createStripeClient(settings) }
  return {
    name: NAME,
    display_name: DISPLAY_NAME,
    test: !live,
    currencies: CURRENCIES,
    entry: 'hosted',
    publishable_key: settings.publishableKey,
    ...(settings.publishableKey !== null && { pageSources: PAGE_SOURCES }),
    offered,
    identify: identifySource,
    createIntent: request => createPayment(deps, request),
    confirm: request => confirmPayment(deps, request),
    retrieve: id => readPayment(deps, id),
    cancel: id => cancelPayment(deps, id),
    refund: request => refundPayment(deps, request),
    saveMethod: request => saveCard(deps, request),
    readVisit: id => readCardVisit(deps, id),
    endVisit: id => endCardVisit(deps, id),
    forgetMethod: id => forgetCard(deps, id),
    forgetCustomer: customer => forgetStripeCustomer(deps, customer),
    readWebhook: delivery => readStripeWebhook(deps, delivery),
    complete: event => completeEvent(deps, event),
    eventsSince: since => readStripeEvents(deps, since),
  }
}

/**
 * Stripe's page, or the name of a card that Stripe has. What the card is called is known once it was charged. Whose
 * card it is, Stripe checks: a payment is made for one customer, and takes no card of another's.
 */
function identifySource(source: string): SourceAnswer {
  const given = source.trim()
  if (given !== CHECKOUT && !METHOD.test(given)) return { accepted: false, failure: 'payment_page_required' }
  return { accepted: true, reference: given, card: { brand: DISPLAY_NAME, last4: '' } }
}
