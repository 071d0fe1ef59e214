import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import Stripe from 'stripe'
import type { WebhookDelivery } from '../src/drivers/payments/port.ts'
import type { Clock } from '../src/platform/clock.ts'
import { createStripeHouse, type Form, Refusal, type StripeEvent, type Thing } from './stripe-house.ts'

export const STRIPE_SETTINGS = {
  secretKey: 'sk_test_0123456789abcdef',
  publishableKey: 'pk_test_0123456789abcdef',
  webhookSecret: 'whsec_0123456789abcdef',
  live: false,
}

/** Stripe forgets its keys after a day. */
const KEYS_KEPT_S = 24 * 3_600

/** What happens to one request: it never arrives, its answer is lost, or Stripe fails before or after the work, or wants none of it. */
export type Fault = 'dropped' | 'lost' | 'failed' | 'too_many' | 'wrong_key' | 'refused'

export interface StripeRequest {
  route: string
  form: Form
  key: string | undefined
}

/**
 * A server that speaks the part of Stripe's API that the gateway uses, with its idempotency keys, its lists and its
 * signed events, and breaks when it is told to. What it does is what Stripe's documents say; Stripe itself is never
 * asked.
 * @param clock The time of its events and signatures.
 */
export async function startStripeServer(clock: Clock) {
  const now = () => Math.floor(clock.now().getTime() / 1_000)
  const house = createStripeHouse(now)
  const requests: StripeRequest[] = []
  const answers = new Map<string, { at: number; form: string; status: number; body: unknown }>()
  let faults: { fault: Fault; at: RegExp }[] = []
  const signer = new Stripe(STRIPE_SETTINGS.secretKey)

  const server = createServer((request, response) => {
    answer(request, response).catch(error => response.writeHead(500).end(String(error)))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://stripe')
    const sent = await text(request)
    const form = Object.fromEntries([...url.searchParams, ...new URLSearchParams(sent)])
    const route = `${request.method} ${url.pathname}`
    const key = request.headers['idempotency-key']?.toString()
    requests.push({ route, form, key })
    if (request.headers.authorization !== `Bearer ${STRIPE_SETTINGS.secretKey}`) {
      return send(response, 401, { error: { type: 'invalid_request_error', message: 'Invalid API Key' } })
    }
    const fault = faults.find(({ at }) => at.test(route))
    faults = faults.filter(one => one !== fault)
    if (fault?.fault === 'dropped') return void request.socket.destroy()
    if (fault?.fault === 'too_many')
      return send(response, 429, { error: { type: 'api_error', code: 'rate_limit' } })
    if (fault?.fault === 'refused') return send(response, 400, { error: { type: 'invalid_request_error' } })
    if (fault?.fault === 'wrong_key') return send(response, 401, { error: { type: 'invalid_request_error' } })
    const kept = key === undefined ? undefined : answers.get(key)
    if (kept && now() - kept.at < KEYS_KEPT_S) {
      if (kept.form !== sent) return send(response, 400, { error: { type: 'idempotency_error' } })
      return send(response, kept.status, kept.body, true)
    }
    const { status, body } = fault?.fault === 'failed' ? FAILED : work(route, form)
    if (key !== undefined) answers.set(key, { at: now(), form: sent, status, body })
    if (fault?.fault === 'lost') return void request.socket.destroy()
    send(response, status, body)
  }

  function work(route: string, form: Form): { status: number; body: unknown } {
    try {
      return { status: 200, body: whole(handle(route, form)) }
    } catch (error) {
      if (error instanceof Refusal) return { status: error.status, body: { error: error.error } }
      throw error
    }
  }

  function handle(route: string, form: Form): unknown {
    for (const [pattern, handler] of ROUTES) {
      const match = pattern.exec(route)
      if (match) return handler(form, match[1] ?? '')
    }
    throw new Refusal(404, { code: 'no_such_route', message: route })
  }

  const ROUTES: [RegExp, (form: Form, id: string) => unknown][] = [
    [/^POST \/v1\/customers$/, form => house.makeCustomer(form)],
    [/^GET \/v1\/customers\/(\w+)$/, (_, id) => house.things.get(id) ?? house.need(id, 'customer', 'id')],
    [/^DELETE \/v1\/customers\/(\w+)$/, (_, id) => house.deleteCustomer(house.need(id, 'customer', 'id'))],
    [/^POST \/v1\/payment_intents$/, form => house.makePayment(form)],
    [/^GET \/v1\/payment_intents\/(\w+)$/, (_, id) => house.need(id, 'payment_intent', 'id')],
    [
      /^POST \/v1\/payment_intents\/(\w+)\/confirm$/,
      (form, id) => house.confirm(house.need(id, 'payment_intent', 'id'), form),
    ],
    [
      /^POST \/v1\/payment_intents\/(\w+)\/cancel$/,
      (_, id) => house.cancel(house.need(id, 'payment_intent', 'id')),
    ],
    [/^POST \/v1\/checkout\/sessions$/, form => house.makePage(form)],
    [/^GET \/v1\/checkout\/sessions\/(\w+)$/, (_, id) => house.need(id, 'checkout.session', 'id')],
    [
      /^POST \/v1\/checkout\/sessions\/(\w+)\/expire$/,
      (_, id) => house.expire(house.need(id, 'checkout.session', 'id')),
    ],
    [/^POST \/v1\/setup_intents$/, form => house.makeSetup(form)],
    [/^GET \/v1\/setup_intents\/(\w+)$/, (_, id) => house.need(id, 'setup_intent', 'id')],
    [
      /^POST \/v1\/setup_intents\/(\w+)\/cancel$/,
      (_, id) => house.cancelSetup(house.need(id, 'setup_intent', 'id')),
    ],
    [/^POST \/v1\/refunds$/, form => house.refund(form)],
    [
      /^GET \/v1\/refunds$/,
      form =>
        listOf(house.all('refund').filter(({ payment_intent }) => payment_intent === form.payment_intent)),
    ],
    [
      /^GET \/v1\/disputes$/,
      form =>
        listOf(house.all('dispute').filter(({ payment_intent }) => payment_intent === form.payment_intent)),
    ],
    [
      /^GET \/v1\/payment_methods$/,
      form => listOf(house.all('payment_method').filter(({ customer }) => customer === form.customer)),
    ],
    [/^GET \/v1\/payment_methods\/(\w+)$/, (_, id) => house.need(id, 'payment_method', 'id')],
    [
      /^POST \/v1\/payment_methods\/(\w+)\/attach$/,
      (form, id) => {
        house.need(form.customer, 'customer', 'customer')
        return house.attach(house.need(id, 'payment_method', 'id'), String(form.customer))
      },
    ],
    [
      /^POST \/v1\/payment_methods\/(\w+)\/detach$/,
      (_, id) => house.detach(house.need(id, 'payment_method', 'id')),
    ],
    [/^GET \/v1\/events$/, form => listEvents(form)],
  ]

  /** Newest first, as many as are asked for. */
  function listEvents(form: Form): unknown {
    const types = Object.entries(form).flatMap(([name, value]) => (name.startsWith('types[') ? [value] : []))
    const found = house.events
      .filter(({ type, created }) => types.includes(type) && created >= Number(form['created[gte]'] ?? 0))
      .toReversed()
    const from = found.findIndex(({ id }) => id === form.starting_after) + 1
    const data = found.slice(from, from + Number(form.limit ?? 10))
    return { object: 'list', data, has_more: from + data.length < found.length }
  }

  /** With what was asked to be seen whole. */
  function whole(body: unknown): unknown {
    const expanded = (thing: Thing, names: string[]): Thing => {
      const copy = { ...thing }
      for (const name of names) {
        const inner = house.things.get(String(copy[name]))
        // A charge names its intent by id, as nobody asks for it.
        if (inner) copy[name] = expanded(inner, inner.object === 'charge' ? [] : names)
      }
      return copy
    }
    const thing = body as Thing
    const names = ['latest_charge', 'payment_intent', 'setup_intent', 'payment_method']
    if (thing.object === 'payment_intent') return expanded(thing, ['latest_charge'])
    if (thing.object === 'setup_intent') return expanded(thing, ['payment_method'])
    return thing.object === 'checkout.session' ? expanded(thing, names) : body
  }

  return {
    house,
    requests,
    settings: { ...STRIPE_SETTINGS, apiUrl: `http://127.0.0.1:${port}` },
    /** Breaks the next request that fits. */
    breakNext(fault: Fault, at = /./) {
      faults.push({ fault, at })
    },
    /** An event as Stripe sends it, signed at a moment; changes are signed too. */
    deliver(
      event: StripeEvent,
      { changes = {}, secret = STRIPE_SETTINGS.webhookSecret, at = now() } = {},
    ): WebhookDelivery {
      const payload = JSON.stringify({ ...event, ...changes })
      const signature = signer.webhooks.generateTestHeaderString({ payload, secret, timestamp: at })
      return { body: Buffer.from(payload), headers: { 'stripe-signature': signature } }
    },
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
export type StripeServer = Awaited<ReturnType<typeof startStripeServer>>

const FAILED = { status: 500, body: { error: { type: 'api_error', message: 'Something went wrong.' } } }

function listOf(data: Thing[]): unknown {
  return { object: 'list', data, has_more: false }
}

function send(response: ServerResponse, status: number, body: unknown, isReplay = false): void {
  const replayed = isReplay ? { 'idempotent-replayed': 'true' } : {}
  response.writeHead(status, { 'content-type': 'application/json', 'request-id': 'req_test', ...replayed })
  response.end(JSON.stringify(body))
}
