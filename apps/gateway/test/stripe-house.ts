import { randomBytes } from 'node:crypto'
import { TEST_CARDS } from '../src/drivers/payments/testcard/test-cards.ts'

/** An object as Stripe's API has it: of each kind the fields that the gateway reads, and a few that it must not. */
export type Thing = Record<string, unknown> & { id: string; object: string }
export type Form = Record<string, string>

export interface StripeEvent {
  id: string
  object: 'event'
  type: string
  created: number
  livemode: boolean
  account?: string
  data: { object: unknown }
}

/** What the API says instead of an answer. */
export class Refusal extends Error {
  readonly status: number
  readonly error: Record<string, unknown>
  constructor(status: number, error: Record<string, unknown>) {
    super(String(error.code))
    this.status = status
    this.error = { type: 'invalid_request_error', message: `refused: ${error.code}`, ...error }
  }
}

/** What a card does: as the test card of that number, or asked for by the bank where nobody is there to answer. */
export type CardKind = (typeof TEST_CARDS)[number]['number'] | 'authentication_required'

/** Codes of the API for what a test card fails with. */
const DECLINES: Readonly<Record<string, [code: string, decline: string | null]>> = {
  card_declined: ['card_declined', 'generic_decline'],
  card_insufficient_funds: ['card_declined', 'insufficient_funds'],
  card_lost: ['card_declined', 'lost_card'],
  card_stolen: ['card_declined', 'stolen_card'],
  card_expired: ['expired_card', null],
  card_incorrect_cvc: ['incorrect_cvc', null],
  card_processing_error: ['processing_error', null],
}

/**
 * Stripe's rules as its documents say them, as far as the gateway uses them: what can be done with which object, when,
 * and what is told of it. Everything stands in memory.
 * @param now The seconds of its clock.
 */
export function createStripeHouse(now: () => number) {
  const things = new Map<string, Thing>()
  const kinds = new Map<string, CardKind>()
  const events: StripeEvent[] = []
  const id = (prefix: string) => `${prefix}_${randomBytes(9).toString('hex')}`
  const put = (thing: Thing): Thing => {
    things.set(thing.id, thing)
    return thing
  }
  const all = (object: string) => [...things.values()].filter(thing => thing.object === object)

  function tell(type: string, object: Thing): undefined {
    // A snapshot: what changes later is told later.
    const data = { object: structuredClone(object) }
    events.push({ id: id('evt'), object: 'event', type, created: now(), livemode: false, data })
  }

  function need(wanted: string | undefined, object: string, param: string): Thing {
    const thing = things.get(wanted ?? '')
    const isThere = thing?.object === object && (object !== 'customer' || thing.deleted !== true)
    if (thing && isThere) return thing
    throw new Refusal(param === 'id' ? 404 : 400, { code: 'resource_missing', param })
  }

  function card(kind: CardKind, fingerprint = id('fp')): string {
    const { brand, number } = TEST_CARDS.find(card => card.number === kind) ?? {
      brand: 'Visa',
      number: '3184',
    }
    const brands: Record<string, string> = { 'American Express': 'amex', 'Diners Club': 'diners' }
    const face = { brand: brands[brand] ?? brand.toLowerCase(), last4: number.slice(-4) }
    const pm = put({
      id: id('pm'),
      object: 'payment_method',
      type: 'card',
      created: now(),
      customer: null,
      card: { ...face, exp_month: 12, exp_year: 2031, fingerprint },
    })
    kinds.set(pm.id, kind)
    return pm.id
  }

  function detach(pm: Thing): Thing {
    if (pm.customer === null) throw new Refusal(400, { code: 'payment_method_unexpected_state' })
    return Object.assign(pm, { customer: null, wasDetached: true })
  }

  /** A card that was taken off a customer is used no more. */
  function refuseDetached(pm: Thing): void {
    if (pm.wasDetached === true) throw new Refusal(400, { code: 'payment_method_unexpected_state' })
  }

  /** Tries to charge an intent with its card. */
  function charge(intent: Thing, offSession: boolean, isConfirmed = false): undefined {
    const kind = kinds.get(String(intent.payment_method)) ?? ''
    const { asks, late, failure } = TEST_CARDS.find(card => card.number === kind) ?? { failure: null }
    const wantsThem = kind === 'authentication_required' || asks === true
    if (wantsThem && offSession) return decline(intent, 'authentication_required', 'authentication_required')
    if (wantsThem && !isConfirmed) {
      const redirect_to_url = {
        url: `https://hooks.stripe.test/3ds/${intent.id}`,
        return_url: intent.return_url,
      }
      Object.assign(intent, {
        status: 'requires_action',
        next_action: { type: 'redirect_to_url', redirect_to_url },
      })
      return tell('payment_intent.requires_action', intent)
    }
    if (failure !== null) return decline(intent, ...(DECLINES[failure] ?? (['card_declined', null] as const)))
    if (late === true) {
      Object.assign(intent, { status: 'processing', next_action: null })
      return tell('payment_intent.processing', intent)
    }
    succeed(intent)
  }

  function decline(intent: Thing, code: string, decline_code: string | null): undefined {
    const error = { type: 'card_error', code, decline_code, message: 'Your card was declined.' }
    Object.assign(intent, {
      status: 'requires_payment_method',
      payment_method: null,
      next_action: null,
      last_payment_error: error,
    })
    tell('payment_intent.payment_failed', intent)
  }

  function succeed(intent: Thing): undefined {
    const pm = things.get(String(intent.payment_method))
    // A card that is paid with without being kept is of no use any more.
    if (pm?.customer === null) {
      Object.assign(pm, intent.setup_future_usage ? { customer: intent.customer } : { wasDetached: true })
    }
    const made = put({
      id: id('ch'),
      object: 'charge',
      amount: intent.amount,
      amount_refunded: 0,
      disputed: false,
      payment_intent: intent.id,
      metadata: intent.metadata,
      payment_method_details: { type: 'card', card: pm?.card },
    })
    Object.assign(intent, {
      status: 'succeeded',
      next_action: null,
      latest_charge: made.id,
      last_payment_error: null,
    })
    tell('payment_intent.succeeded', intent)
  }

  function makeIntent(form: Form, prefix: string, more: Record<string, unknown>): Thing {
    const metadata = metadataOf(form, prefix)
    return put({
      id: id('pi'),
      object: 'payment_intent',
      amount: Number(form.amount),
      currency: form.currency,
      customer: form.customer,
      metadata,
      payment_method: form.payment_method ?? null,
      setup_future_usage:
        form[prefix === '' ? 'setup_future_usage' : `${prefix}[setup_future_usage]`] ?? null,
      latest_charge: null,
      last_payment_error: null,
      next_action: null,
      client_secret: id('secret'),
      created: now(),
      ...more,
    })
  }

  /** Asks a bank for later charges of a card. */
  function setUp(setup: Thing, isConfirmed: boolean): undefined {
    const pm = need(String(setup.payment_method), 'payment_method', 'payment_method')
    const kind = kinds.get(pm.id) ?? ''
    const { asks, failure } = TEST_CARDS.find(card => card.number === kind) ?? { failure: null }
    if ((kind === 'authentication_required' || asks === true) && !isConfirmed) {
      const url = `https://hooks.stripe.test/setup/${setup.id}`
      const redirect_to_url = { url, return_url: setup.return_url }
      Object.assign(setup, {
        status: 'requires_action',
        next_action: { type: 'redirect_to_url', redirect_to_url },
      })
      return
    }
    if (failure !== null)
      return refuseSetup(setup, ...(DECLINES[failure] ?? (['card_declined', null] as const)))
    pm.customer = setup.customer
    Object.assign(setup, { status: 'succeeded', next_action: null, last_setup_error: null })
  }

  function refuseSetup(setup: Thing, code: string, decline_code: string | null): undefined {
    const error = { type: 'card_error', code, decline_code, message: 'Your card was declined.' }
    Object.assign(setup, {
      status: 'requires_payment_method',
      payment_method: null,
      next_action: null,
      last_setup_error: error,
    })
  }

  function chargeOf(intentId: string): { intent: Thing; charge: Thing } {
    const intent = need(intentId, 'payment_intent', 'payment_intent')
    const charge = things.get(String(intent.latest_charge))
    if (!charge) throw new Refusal(400, { code: 'payment_intent_unexpected_state' })
    return { intent, charge }
  }

  /** What stands at Stripe as refunds of a charge: those that failed are none any more. */
  function countRefunds(intentId: string): number {
    const { charge } = chargeOf(intentId)
    const cents = all('refund')
      .filter(refund => refund.payment_intent === intentId && refund.status !== 'failed')
      .reduce((sum, refund) => sum + Number(refund.amount), 0)
    Object.assign(charge, { amount_refunded: cents, refunded: cents === charge.amount })
    return cents
  }

  return {
    things,
    events,
    all,
    need,
    put,
    card,
    makeCustomer: (form: Form) => put({ id: id('cus'), object: 'customer', metadata: metadataOf(form, '') }),
    /** Its cards are detached with it. */
    deleteCustomer(customer: Thing): Thing {
      for (const pm of all('payment_method')) if (pm.customer === customer.id) detach(pm)
      return Object.assign(customer, { deleted: true })
    },
    attach(pm: Thing, customer: string): Thing {
      refuseDetached(pm)
      return Object.assign(pm, { customer })
    },
    detach,
    /** What a payment was paid with. */
    kindOf: (intent: Thing) => kinds.get(String(intent.payment_method)),
    makePayment(form: Form): Thing {
      need(form.customer, 'customer', 'customer')
      const pm = need(form.payment_method, 'payment_method', 'payment_method')
      refuseDetached(pm)
      if (pm.customer !== null && pm.customer !== form.customer) {
        throw new Refusal(400, { code: 'payment_method_unexpected_state', param: 'payment_method' })
      }
      return makeIntent(form, '', { status: 'requires_confirmation' })
    },
    /** A question to a bank for later charges, asked at once. */
    makeSetup(form: Form): Thing {
      need(form.customer, 'customer', 'customer')
      const pm = need(form.payment_method, 'payment_method', 'payment_method')
      refuseDetached(pm)
      if (pm.customer !== null && pm.customer !== form.customer) {
        throw new Refusal(400, { code: 'payment_method_unexpected_state', param: 'payment_method' })
      }
      const { customer, payment_method, return_url, usage } = form
      const made = { customer, payment_method, return_url, usage, next_action: null, last_setup_error: null }
      const setup = put({ id: id('seti'), object: 'setup_intent', status: 'requires_confirmation', ...made })
      setUp(setup, false)
      const error = setup.last_setup_error as Record<string, unknown> | null
      if (error) throw new Refusal(402, { ...error, setup_intent: setup })
      return setup
    },
    /** The customer answers what their bank asks for later charges. */
    answerSetup(setupId: string, isConfirmed: boolean): undefined {
      const setup = need(setupId, 'setup_intent', 'id')
      if (setup.status !== 'requires_action')
        throw new Refusal(400, { code: 'setup_intent_unexpected_state' })
      if (isConfirmed) setUp(setup, true)
      else refuseSetup(setup, 'setup_intent_authentication_failure', null)
    },
    cancelSetup(setup: Thing): Thing {
      if (!['requires_payment_method', 'requires_action'].includes(String(setup.status))) {
        throw new Refusal(400, { code: 'setup_intent_unexpected_state' })
      }
      return Object.assign(setup, { status: 'canceled', next_action: null })
    },
    confirm(intent: Thing, form: Form): Thing {
      if (intent.status !== 'requires_confirmation') {
        throw new Refusal(400, { code: 'payment_intent_unexpected_state' })
      }
      intent.return_url = form.return_url
      charge(intent, form.off_session === 'true')
      const error = intent.last_payment_error as Record<string, unknown> | null
      if (error) throw new Refusal(402, { ...error, payment_intent: intent })
      return intent
    },
    cancel(intent: Thing): Thing {
      if (
        !['requires_confirmation', 'requires_action', 'requires_payment_method'].includes(
          String(intent.status),
        )
      ) {
        throw new Refusal(400, { code: 'payment_intent_unexpected_state' })
      }
      Object.assign(intent, { status: 'canceled', next_action: null })
      tell('payment_intent.canceled', intent)
      return intent
    },
    makePage(form: Form): Thing {
      need(form.customer, 'customer', 'customer')
      const made = id('cs_test')
      return put({
        id: made,
        object: 'checkout.session',
        mode: form.mode,
        status: 'open',
        payment_status: 'unpaid',
        url: `https://checkout.stripe.test/c/pay/${made}`,
        customer: form.customer,
        payment_intent: null,
        setup_intent: null,
        metadata: metadataOf(form, ''),
        form,
      })
    },
    expire(page: Thing): Thing {
      if (page.status !== 'open') throw new Refusal(400, { code: 'resource_missing_state' })
      Object.assign(page, { status: 'expired', url: null })
      tell('checkout.session.expired', page)
      return page
    },
    refund(form: Form): Thing {
      const { charge } = chargeOf(form.payment_intent ?? '')
      const left = Number(charge.amount) - countRefunds(String(charge.payment_intent))
      const amount = Number(form.amount)
      if (amount > left) throw new Refusal(400, { code: 'charge_already_refunded' })
      const { payment_intent } = charge
      const made = put({
        id: id('re'),
        object: 'refund',
        amount,
        payment_intent,
        metadata: metadataOf(form, ''),
        status: 'succeeded',
        created: now(),
      })
      countRefunds(String(payment_intent))
      tell('refund.created', made)
      tell('charge.refunded', charge)
      return made
    },
    /** A refund did not arrive. */
    failRefund(refundId: string): undefined {
      const refund = need(refundId, 'refund', 'id')
      refund.status = 'failed'
      countRefunds(String(refund.payment_intent))
      tell('refund.failed', refund)
    },
    /** A bank takes a payment; what it does with it is told by `status`. */
    dispute(intentId: string, amount: number, status = 'needs_response'): string {
      const { charge } = chargeOf(intentId)
      charge.disputed = true
      const made = put({
        id: id('du'),
        object: 'dispute',
        amount,
        payment_intent: intentId,
        status,
        created: now(),
      })
      tell('charge.dispute.created', made)
      return made.id
    },
    endDispute(disputeId: string, status: 'won' | 'lost'): undefined {
      const dispute = need(disputeId, 'dispute', 'id')
      dispute.status = status
      tell('charge.dispute.closed', dispute)
    },
    /** The customer answers the bank's question. */
    answer(intentId: string, isConfirmed: boolean): undefined {
      const intent = need(intentId, 'payment_intent', 'id')
      if (isConfirmed) charge(intent, false, true)
      else decline(intent, 'payment_intent_authentication_failure', null)
    },
    /** What a bank took its time for. */
    settle(intentId: string, succeeds = true): undefined {
      const intent = need(intentId, 'payment_intent', 'id')
      if (succeeds) succeed(intent)
      else decline(intent, 'card_declined', 'generic_decline')
      const page = all('checkout.session').find(one => one.payment_intent === intentId)
      if (!page) return
      if (succeeds) page.payment_status = 'paid'
      tell(`checkout.session.async_payment_${succeeds ? 'succeeded' : 'failed'}`, page)
    },
    /** The customer enters a card at the page; one that is declined leaves the page open. */
    payAt(pageId: string, kind: CardKind): undefined {
      const page = need(pageId, 'checkout.session', 'id')
      const form = page.form as Form
      const pm = card(kind)
      if (page.mode === 'setup') {
        Object.assign(things.get(pm) ?? {}, { customer: page.customer })
        const setup = put({
          ...{ id: id('seti'), object: 'setup_intent', status: 'succeeded' },
          ...{ customer: page.customer, payment_method: pm },
        })
        Object.assign(page, { status: 'complete', url: null, setup_intent: setup.id })
        return tell('checkout.session.completed', page)
      }
      const amount = form['line_items[0][price_data][unit_amount]'] ?? ''
      const currency = form['line_items[0][price_data][currency]'] ?? ''
      const given = { ...form, amount, currency, payment_method: pm }
      const intent =
        things.get(String(page.payment_intent)) ??
        makeIntent(given, 'payment_intent_data', { status: 'requires_confirmation' })
      intent.payment_method = pm
      page.payment_intent = intent.id
      charge(intent, false, true)
      if (intent.status === 'requires_payment_method') return
      const payment_status = intent.status === 'succeeded' ? 'paid' : 'unpaid'
      Object.assign(page, { status: 'complete', url: null, payment_status })
      tell('checkout.session.completed', page)
    },
  }
}

function metadataOf(form: Form, prefix: string): Record<string, string> {
  const start = prefix === '' ? 'metadata[' : `${prefix}[metadata][`
  return Object.fromEntries(
    Object.entries(form).flatMap(([name, value]) =>
      name.startsWith(start) ? [[name.slice(start.length, -1), value]] : [],
    ),
  )
}
