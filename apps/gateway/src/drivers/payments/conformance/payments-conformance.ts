import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import {
  type IntentRequest,
  type MethodRequest,
  type MethodVisit,
  type PaymentDriver,
  type PlatformEvent,
  type PlatformIntent,
  type PlatformMethod,
  type WebhookDelivery,
  WebhookRefused,
} from '../port.ts'

const KEPT_URL = 'http://127.0.0.1:8080/payments?card=m_1'
const RETURN_URL = 'http://127.0.0.1:8080/payments?topup=t_1'

/** What the suite needs of a platform beside its driver. */
export interface PaymentsSubject {
  driver(): PaymentDriver
  /** What `identify` made of the test card of that number, as the platform has it. */
  source(cardNumber: string): Promise<string>
  /** The customer confirms at the platform's page, or refuses. */
  answer(intent: PlatformIntent, confirmed: boolean): Promise<void>
  /** The customer answers what their bank asks before a card is kept. */
  answerVisit(visit: MethodVisit, confirmed: boolean): Promise<void>
  /** Lets so much time pass that what cards do later has come. */
  passTime(): Promise<void>
  /** Whether the platform still has something under our id of a customer, or a card that it kept for them. */
  keepsOf(customer: string): Promise<boolean>
  /** The events of a payment, as the platform sends them now, oldest first. */
  deliveries(intentId: string): Promise<WebhookDelivery[]>
}

/**
 * What every payment platform must do. A driver runs it against the platform itself or a double of it; what a double
 * does is what the platform's documents say.
 */
export function describePayments(subject: () => PaymentsSubject): void {
  const driver = () => subject().driver()

  async function requestOf(card: string, changes: Partial<IntentRequest> = {}): Promise<IntentRequest> {
    return {
      reference: randomUUID(),
      customer: randomUUID(),
      amount_cents: 2_500,
      currency: 'USD',
      source: await subject().source(card),
      return_url: RETURN_URL,
      ...changes,
    }
  }
  async function keepOf(card: string, changes: Partial<MethodRequest> = {}): Promise<MethodRequest> {
    return {
      idempotency_key: randomUUID(),
      customer: randomUUID(),
      source: await subject().source(card),
      currency: 'USD',
      return_url: KEPT_URL,
      ...changes,
    }
  }
  /** Keeps a card that nothing is asked of. */
  async function kept(request: MethodRequest): Promise<PlatformMethod> {
    const { method } = await driver().saveMethod(request)
    if (!method) throw new Error('the card was not kept at once')
    return method
  }
  const made = async (card: string) => await driver().createIntent(await requestOf(card))
  const confirm = (intent_id: string) => driver().confirm({ intent_id, return_url: RETURN_URL })
  const paid = async (card = '4242424242424242') => await confirm((await made(card)).intent_id)

  test('[B3] one reference is one intent, however many ask, and it is charged once', async () => {
    const request = await requestOf('4242424242424242')
    const first = await driver().createIntent(request)
    expect(first).toMatchObject({ status: 'created', failure: null, next_url: null })
    const again = await Promise.all(Array.from({ length: 5 }, () => driver().createIntent(request)))
    expect(new Set(again.map(({ intent_id }) => intent_id))).toEqual(new Set([first.intent_id]))
    const answers = await Promise.all(Array.from({ length: 5 }, () => confirm(first.intent_id)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set(['succeeded']))
    expect(await driver().retrieve(first.intent_id)).toMatchObject({ status: 'succeeded', refunded_cents: 0 })
    await expect(driver().createIntent({ ...request, amount_cents: 1_000 })).rejects.toThrow(Error)
  })

  test.each([
    ['4000000000000002', 'card_declined'],
    ['4000000000009995', 'card_insufficient_funds'],
    ['4000000000009987', 'card_lost'],
    ['4000000000009979', 'card_stolen'],
    ['4000000000000069', 'card_expired'],
    ['4000000000000127', 'card_incorrect_cvc'],
    ['4000000000000119', 'card_processing_error'],
  ])('[R5.8] [R8.1] %s is refused with %s, as an answer and for good', async (card, failure) => {
    const refused = await paid(card)
    expect(refused).toMatchObject({ status: 'failed', failure })
    expect(await confirm(refused.intent_id)).toMatchObject({ status: 'failed', failure })
    expect(await driver().retrieve(refused.intent_id)).toMatchObject({ status: 'failed', failure })
  })

  test.each([
    ['4000002500003155', true, { status: 'succeeded', failure: null }],
    ['4000002500003155', false, { status: 'failed', failure: 'payment_not_confirmed' }],
    ['4000008400001629', true, { status: 'failed', failure: 'card_declined' }],
  ])('%s asks the customer, who confirms: %s', async (card, confirmed, end) => {
    const asked = await paid(card)
    expect(asked).toMatchObject({ status: 'requires_action', next_url: expect.stringContaining('/') })
    expect(await driver().retrieve(asked.intent_id)).toMatchObject({ status: 'requires_action' })
    await subject().answer(asked, confirmed)
    expect(await driver().retrieve(asked.intent_id)).toMatchObject({ ...end, next_url: null })
  })

  test('what waits can be ended; what is paid stays paid', async () => {
    const asked = await paid('4000002500003155')
    expect(await driver().cancel(asked.intent_id)).toMatchObject({ status: 'canceled' })
    expect(await driver().cancel(asked.intent_id)).toMatchObject({ status: 'canceled' })
    const { intent_id } = await paid()
    expect(await driver().cancel(intent_id)).toMatchObject({ status: 'succeeded' })
  })

  test('what a bank takes its time for is on its way until it has come', async () => {
    const { intent_id, status } = await paid('6011111111111117')
    expect(status).toBe('processing')
    expect(await driver().cancel(intent_id)).toMatchObject({ status: 'processing' })
    await subject().passTime()
    expect(await driver().retrieve(intent_id)).toMatchObject({ status: 'succeeded' })
  })

  test('[B3] a refund is given once for each key, never more than was taken', async () => {
    const { intent_id } = await paid()
    const request = { intent_id, idempotency_key: randomUUID(), amount_cents: 1_000 }
    expect(await driver().refund(request)).toMatchObject({ refunded_cents: 1_000, refunds_failed_cents: 0 })
    expect(await driver().refund(request)).toMatchObject({ refunded_cents: 1_000 })
    const rest = { ...request, idempotency_key: randomUUID(), amount_cents: 1_500 }
    expect(await driver().refund(rest)).toMatchObject({ refunded_cents: 2_500 })
    await expect(driver().refund({ ...request, idempotency_key: randomUUID() })).rejects.toThrow(Error)
    expect(await driver().retrieve(intent_id)).toMatchObject({ status: 'succeeded', refunded_cents: 2_500 })
  })

  test.each([
    ['4000000000000259', 0],
    ['4000000000002685', 2_500],
  ])('[B2] %s is disputed after it succeeded, and the bank gives %i back', async (card, wonCents) => {
    const { intent_id, status } = await paid(card)
    expect(status).toBe('succeeded')
    await subject().passTime()
    const taken = { status: 'succeeded', refunded_cents: 0, disputed_cents: 2_500 }
    expect(await driver().retrieve(intent_id)).toMatchObject({ ...taken, disputes_won_cents: 0 })
    await subject().passTime()
    const end = { disputed_cents: 2_500, disputes_won_cents: wonCents }
    expect(await driver().retrieve(intent_id)).toMatchObject({ ...taken, ...end })
    const sent = (await subject().deliveries(intent_id)).flatMap(one => driver().readWebhook(one))
    expect((await Promise.all(sent.map(completed))).at(-1)).toMatchObject(end)
  })

  test('[B3] webhooks and the list of events tell the same, each under one name', async () => {
    const asked = await paid('4000002500003155')
    await subject().answer(asked, true)
    const refund = { intent_id: asked.intent_id, idempotency_key: randomUUID(), amount_cents: 700 }
    await driver().refund(refund)
    const sent = (await subject().deliveries(asked.intent_id)).flatMap(one => driver().readWebhook(one))
    const told = await Promise.all(sent.map(completed))
    expect(told.map(({ status }) => status)).toContain('succeeded')
    expect(told.at(-1)).toMatchObject({ refunded_cents: 700 })
    expect(new Set(told.map(({ reference }) => reference)).size).toBe(1)
    const listed: PlatformEvent[] = []
    for await (const page of driver().eventsSince(new Date(0))) listed.push(...page)
    const ours = new Set(sent.map(({ event_id }) => event_id))
    expect(new Set(listed.flatMap(({ event_id }) => (ours.has(event_id) ? [event_id] : [])))).toEqual(ours)
  })

  test('a webhook whose bytes or signature were touched is refused', async () => {
    const { intent_id } = await paid()
    const [delivery] = await subject().deliveries(intent_id)
    if (!delivery) throw new Error('nothing was told')
    const touched = Buffer.from(delivery.body)
    touched.write(' ', touched.length - 1)
    expect(() => driver().readWebhook({ ...delivery, body: touched })).toThrow(WebhookRefused)
    expect(() => driver().readWebhook({ ...delivery, headers: {} })).toThrow(WebhookRefused)
  })

  test('a card that is kept is charged by its name, until it is forgotten', async () => {
    const customer = randomUUID()
    const asked = await keepOf('5555555555554444', { customer })
    const { method_id: source, ...card } = await kept(asked)
    expect(card).toMatchObject({ brand: 'Mastercard', last4: '4444', expiry_month: 12 })
    expect((await kept(asked)).method_id).toBe(source)
    const request = await requestOf('5555555555554444', { customer, source })
    const { intent_id } = await driver().createIntent(request)
    expect(await confirm(intent_id)).toMatchObject({ status: 'succeeded' })
    await driver().forgetMethod(source)
    await driver().forgetMethod(source)
  })

  test.each([
    ['4000000000009987', 'card_lost'],
    ['4000000000009979', 'card_stolen'],
    ['4000000000000069', 'card_expired'],
    ['4000000000000127', 'card_incorrect_cvc'],
  ])('[R3.7] %s is not kept: %s, however often that is asked', async (card, failure) => {
    const request = await keepOf(card)
    for (let time = 0; time < 2; time += 1) {
      await expect(driver().saveMethod(request)).rejects.toMatchObject({ name: 'PaymentRefused', failure })
    }
  })

  test.each([
    ['4000002500003155', true, { status: 'saved', failure: null }],
    ['4000002500003155', false, { status: 'refused', failure: 'payment_not_confirmed', method: null }],
    ['4000008400001629', true, { status: 'refused', failure: 'card_declined', method: null }],
  ])('[R3.7] %s is kept once its bank has asked, who confirms: %s', async (card, confirmed, end) => {
    const request = await keepOf(card)
    const asked = await driver().saveMethod(request)
    expect(asked).toMatchObject({
      ...{ status: 'open', method: null },
      next_url: expect.stringContaining('/'),
    })
    // An answer that was lost, or a second tab: the same question.
    expect(await driver().saveMethod(request)).toEqual(asked)
    expect(await driver().readVisit(asked.visit_id ?? '')).toEqual(asked)
    await subject().answerVisit(asked, confirmed)
    const ended = { ...end, next_url: null }
    expect(await driver().readVisit(asked.visit_id ?? '')).toMatchObject(ended)
    expect(await driver().saveMethod(request)).toMatchObject(ended)
    expect(await driver().endVisit(asked.visit_id ?? '')).toMatchObject({
      status: confirmed && end.status === 'saved' ? 'saved' : expect.stringMatching(/^(?:refused|ended)$/),
    })
  })

  test('[R3.7] a question that is ended keeps no card, and one that was asked with the payment is not asked again', async () => {
    const request = await keepOf('4000002500003155')
    const { visit_id: visitId } = await driver().saveMethod(request)
    for (let time = 0; time < 2; time += 1) {
      expect(await driver().endVisit(visitId ?? '')).toMatchObject({ status: 'ended', method: null })
    }
    expect(await driver().readVisit(visitId ?? '')).toMatchObject({ status: 'ended', next_url: null })
    const paid = await keepOf('4000002500003155', { was_paid: true })
    expect(await driver().saveMethod(paid)).toMatchObject({ status: 'saved', method: { last4: '3155' } })
  })

  test('a customer who is forgotten is known no more, however often that is asked', async () => {
    const customer = randomUUID()
    const { method_id: source } = await kept(await keepOf('4242424242424242', { customer }))
    const { intent_id } = await driver().createIntent(
      await requestOf('4242424242424242', { customer, source }),
    )
    await confirm(intent_id)
    await driver().forgetMethod(source)
    await driver().forgetCustomer?.(customer)
    expect(await subject().keepsOf(customer)).toBe(false)
    await driver().forgetCustomer?.(customer)
    await driver().forgetCustomer?.(randomUUID())
    // What they paid is there all the same, and can be given back.
    const request = { intent_id, idempotency_key: randomUUID(), amount_cents: 1_000 }
    expect(await driver().refund(request)).toMatchObject({ status: 'succeeded', refunded_cents: 1_000 })
  })

  async function completed(event: PlatformEvent): Promise<PlatformEvent> {
    return event.incomplete ? ((await driver().complete?.(event)) ?? event) : event
  }
}
