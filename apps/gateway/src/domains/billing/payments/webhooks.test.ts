import { randomUUID } from 'node:crypto'
import {
  cancelTopup,
  getBalance,
  getReceipt,
  getTopup,
  listOpenTopups,
  listTransactions,
  topup,
} from '@berth/contract/billing'
import { eq, like, sql } from 'drizzle-orm'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { startGateway, type TestGateway, WEBHOOK_SECRET } from '../../../../test/start-gateway.ts'
import { testcardEvent } from '../../../drivers/payments/tables.ts'
import { SIGNATURE_HEADER, signWebhook } from '../../../drivers/payments/testcard/testcard-signature.ts'
import { paymentEvent, paymentEventAside } from './tables.ts'

const ASKS = '4000 0025 0000 3155'
const FAILS_AFTER = '4000 0084 0000 1629'
const LATE = '6011 1111 1111 1117'
const DISORDERLY = '3056 9300 0902 0004'
const REFUNDED = '4000 0000 0000 7726'
const REFUND_FAILS = '4000 0000 0000 5126'

/** The whole gateway over HTTP: its test platform sends signed webhooks to the same server. */
let gateway: TestGateway
/** Warnings and errors. */
const logged: string[] = []
let token: string
beforeAll(async () => {
  const log = pino({ level: 'warn' }, { write: line => void logged.push(line) })
  gateway = await startGateway({ log })
})
afterAll(() => gateway.stop())
beforeEach(async () => {
  token = (await gateway.signUp()).token
})

test('[R2.22] [R5.8] a card that asks is paid once the customer has confirmed on the page, and not before', async () => {
  const asked = await pay(ASKS)
  expect(asked).toMatchObject({ status: 'requires_action', amount: 2_500 })
  expect(await open()).toMatchObject([
    { transaction_id: asked.transaction_id, card: { brand: 'Visa', last4: '3155' } },
  ])
  expect(await balance()).toBe(0)
  const page = gateway.origin + asked.next_url
  const shown = await fetch(page, { headers: { 'accept-language': 'ja' } })
  expect(shown.headers.get('content-security-policy')).toContain("default-src 'none'")
  expect(shown.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
  expect(await shown.text()).toContain('支払いの確認')
  expect(await transactions()).toMatchObject([{ status: 'pending', about: { waits_for: 'customer' } }])
  // Looking at the page, or coming back from it, pays nothing.
  expect(await state(asked.transaction_id)).toMatchObject({ status: 'requires_action' })
  await answer(page, 'confirm')
  await settled(asked.transaction_id)
  expect(await balance()).toBe(2_500)
  expect(await open()).toEqual([])
  expect(await gateway.gateway.billing.checkBooks()).toEqual([])
})

test.each([
  [ASKS, 'refuse', 'payment_not_confirmed'],
  [FAILS_AFTER, 'confirm', 'card_declined'],
])('[R8.1] %s, when the customer answers %s, ends with %s and no money', async (source, said, failure) => {
  const asked = await pay(source)
  await answer(gateway.origin + asked.next_url, said)
  await vi.waitFor(async () =>
    expect(await state(asked.transaction_id)).toMatchObject({ status: 'failed', failure, next_url: null }),
  )
  expect(await balance()).toBe(0)
  expect(await transactions()).toMatchObject([{ status: 'failed', about: { failure } }])
})

test('a payment that waits can be canceled, and is not paid by a page that was left open', async () => {
  const asked = await pay(ASKS)
  const params = { id: asked.transaction_id }
  expect(await gateway.data(cancelTopup, { params }, { token })).toMatchObject({ status: 'canceled' })
  expect(await (await answer(gateway.origin + asked.next_url, 'confirm')).text()).toContain('has ended')
  expect(await gateway.data(cancelTopup, { params }, { token })).toMatchObject({ status: 'canceled' })
  expect(await balance()).toBe(0)
  expect(await transactions()).toMatchObject([{ status: 'failed', about: { failure: 'payment_canceled' } }])
})

test('[B3] a card that settles late is pending, then there, once; so is one whose events are in disorder', async () => {
  for (const [count, source] of [LATE, DISORDERLY].entries()) {
    const pending = await pay(source)
    expect(pending).toMatchObject({ status: 'processing', next_url: null })
    expect(await transactions()).toContainEqual(
      expect.objectContaining({
        id: pending.transaction_id,
        status: 'pending',
        cash_amount_micro: '0',
        about: expect.objectContaining({ waits_for: 'bank' }),
      }),
    )
    await gateway.passTimeAtCards()
    await settled(pending.transaction_id)
    expect(await balance()).toBe(2_500 * (count + 1))
  }
  await vi.waitFor(async () => {
    const left = await gateway.database.db.select().from(testcardEvent)
    expect(left.filter(({ deliverAt }) => deliverAt !== null)).toEqual([])
  })
  expect(await balance()).toBe(5_000)
  expect(await gateway.gateway.billing.checkBooks()).toEqual([])
})

test('[R3.10] [B2] what is refunded later goes out of the wallet, as a transaction of its own', async () => {
  const paid = await pay(REFUNDED)
  expect(paid.status).toBe('settled')
  await gateway.passTimeAtCards()
  await vi.waitFor(async () =>
    expect(await state(paid.transaction_id)).toMatchObject({ status: 'refunded', refunded_amount: 2_500 }),
  )
  expect(await balance()).toBe(0)
  const [refund, charge] = await transactions()
  expect(charge).toMatchObject({ id: paid.transaction_id, type: 'topup', status: 'settled' })
  expect(refund).toMatchObject({
    type: 'refund',
    status: 'settled',
    amount_micro: '-25000000',
    cash_amount_micro: '-25000000',
    about: { card: { brand: 'Visa', last4: '7726' } },
  })
  const { lines } = await gateway.data(getReceipt, { params: { id: refund?.id ?? '' } }, { token })
  expect(lines).toMatchObject([{ from_account: 'cash', to_account: 'clearing', platform: 'Test card' }])
  expect(await gateway.gateway.billing.checkBooks()).toEqual([])
})

test('[R3.10] [B2] a refund that does not arrive is in the wallet again, and its row says so', async () => {
  const paid = await pay(REFUND_FAILS)
  await gateway.passTimeAtCards()
  await vi.waitFor(async () => expect(await state(paid.transaction_id)).toMatchObject({ status: 'refunded' }))
  await gateway.passTimeAtCards()
  await vi.waitFor(async () =>
    expect(await transactions()).toMatchObject([{ type: 'refund', status: 'failed' }, {}]),
  )
  expect(await balance()).toBe(2_500)
  expect(await state(paid.transaction_id)).toMatchObject({ status: 'settled', refunded_amount: 0 })
  const [refund] = await transactions()
  expect(refund).toMatchObject({
    amount_micro: '-25000000',
    cash_amount_micro: '0',
    pending_amount_micro: '0',
  })
  const { lines } = await gateway.data(getReceipt, { params: { id: refund?.id ?? '' } }, { token })
  expect(lines).toMatchObject([
    { from_account: 'cash', to_account: 'clearing', platform: 'Test card' },
    { from_account: 'clearing', to_account: 'cash', platform: 'Test card' },
  ])
  expect(await gateway.gateway.billing.checkBooks()).toEqual([])
})

test('[R6.4] somebody else sees nothing of a payment and cannot end it', async () => {
  const asked = await pay(ASKS)
  const other = (await gateway.signUp()).token
  for (const call of [getTopup, cancelTopup]) {
    for (const id of [asked.transaction_id, `t_${randomUUID()}`, 'u_1', 'x']) {
      const { envelope } = await gateway.call(call, { params: { id } }, { token: other })
      expect(envelope).toMatchObject({ code: 'not_found' })
    }
  }
  expect(await gateway.data(listOpenTopups, {}, { token: other })).toEqual([])
  expect(await state(asked.transaction_id)).toMatchObject({ status: 'requires_action' })
})

test('[B3] a webhook is believed by its signature alone, and counts once', async () => {
  const paid = await pay('4242424242424242')
  const sent = await vi.waitFor(async () => {
    const events = await gateway.database.db.select().from(testcardEvent)
    const [event] = events.filter(({ body }) => body.includes(paid.transaction_id.slice(2)))
    if (!event || event.deliverAt !== null) throw new Error('not sent yet')
    return event
  })
  for (let again = 0; again < 3; again++) expect(await send(sent.body)).toMatchObject({ status: 200 })
  expect(await balance()).toBe(2_500)
  const forged = sent.body
    .replace('"refunded_cents":0', '"refunded_cents":2500')
    .replace(sent.eventId, 'evt_1')
  expect(forged).not.toBe(sent.body)
  expect(await send(forged, { signed: sent.body })).toMatchObject({ status: 400, code: 'webhook_refused' })
  expect(await send(forged, { signature: null })).toMatchObject({ status: 400, code: 'webhook_refused' })
  expect(await balance()).toBe(2_500)
  const events = await gateway.database.db
    .select()
    .from(paymentEvent)
    .where(eq(paymentEvent.eventId, sent.eventId))
  expect(events).toHaveLength(1)
})

test('[B3] a webhook that cannot be booked is answered as taken, and is booked once when it can be', async () => {
  const { db } = gateway.database
  const asked = await pay(ASKS)
  const id = asked.transaction_id.slice(2)
  await db.execute(
    sql.raw(
      `alter table payment_intent add constraint got_wrong check (id <> '${id}' or state <> 'succeeded')`,
    ),
  )
  await answer(gateway.origin + asked.next_url, 'confirm')
  await vi.waitFor(async () => {
    const [event] = await db
      .select()
      .from(testcardEvent)
      .where(like(testcardEvent.body, `%${id}%succeeded%`))
    expect(event).toMatchObject({ deliverAt: null, tries: 1 })
  })
  const isKept = eq(paymentEventAside.reference, id)
  expect(await db.select().from(paymentEventAside).where(isKept)).toHaveLength(1)
  expect(await balance()).toBe(0)
  await db.execute(sql`alter table payment_intent drop constraint got_wrong`)
  await db
    .update(paymentEventAside)
    .set({ tryAt: new Date(0) })
    .where(isKept)
  await gateway.gateway.billing.recoverTopups()
  expect(await db.$count(paymentEventAside, isKept)).toBe(0)
  expect(await balance()).toBe(2_500)
  expect(await gateway.gateway.billing.checkBooks()).toEqual([])
})

test.each(['', '{', 'null', '[]', '{"id":"evt_2","type":"intent.moved","created":"soon","intent":{}}', '\0'])(
  'a webhook that is signed and makes no sense is refused, changes nothing, and stands in the log: %j',
  async body => {
    logged.length = 0
    expect(await send(body)).toMatchObject({ status: 400, code: 'webhook_unreadable' })
    expect(logged.join()).toContain('it is no event of the test platform')
    expect(await balance()).toBe(0)
  },
)

test('what is no webhook is turned away: another platform, too much, another method', async () => {
  expect(await send('{}', { platform: 'stripe' })).toMatchObject({ status: 404, code: 'not_found' })
  expect(await send('x'.repeat(300_000))).toMatchObject({ status: 413, code: 'body_too_large' })
  const page = `${gateway.origin}/gateway/pay/testcard/${'x'.repeat(43)}`
  expect((await fetch(page)).status).toBe(404)
  expect((await fetch(page.replace('testcard', 'stripe'))).status).toBe(404)
  expect((await answer(page, 'x'.repeat(2_000))).status).toBe(413)
  for (const odd of ['%00', '%00'.repeat(43), '..%2f..', '<script>', '%EF%BF%BF']) {
    for (const shown of [
      await fetch(page.replace(/x+$/, odd)),
      await answer(page.replace(/x+$/, odd), 'confirm'),
    ]) {
      expect(shown.status).toBe(404)
      expect(await shown.text()).not.toContain('<script')
    }
  }
  expect((await fetch(`${gateway.origin}/gateway/api/bill/webhook/testcard`)).status).toBe(404)
})

test('[B3] an event about a payment that is none of ours is taken and changes nothing', async () => {
  const body = JSON.stringify({
    id: `evt_${randomUUID()}`,
    type: 'intent.moved',
    created: '2026-03-10T00:00:00.000Z',
    intent: { id: 'pi_1', reference: randomUUID(), status: 'succeeded', failure: null, refunded_cents: 0 },
  })
  expect(await send(body)).toMatchObject({ status: 200 })
  expect(await gateway.gateway.billing.checkBooks()).toEqual([])
})

function pay(source: string) {
  const body = { amount: 2_500, currency: 'USD', platform_name: 'testcard', source } as const
  return gateway.data(topup, { body }, { token })
}

function state(id: string) {
  return gateway.data(getTopup, { params: { id } }, { token })
}

async function settled(id: string): Promise<void> {
  await vi.waitFor(async () => expect(await state(id)).toMatchObject({ status: 'settled' }))
}

function open() {
  return gateway.data(listOpenTopups, {}, { token })
}

async function balance(): Promise<number> {
  return (await gateway.data(getBalance, {}, { token })).account_balance.amount
}

async function transactions() {
  return (await gateway.data(listTransactions, { query: {} }, { token })).items
}

/** Presses a button of the page. */
function answer(page: string, said: string): Promise<Response> {
  return fetch(page, { method: 'POST', body: new URLSearchParams({ answer: said }) })
}

interface Sent {
  platform?: string
  /** What the signature is over, if not the body. */
  signed?: string
  signature?: null
}

async function send(body: string, { platform = 'testcard', signed = body, signature }: Sent = {}) {
  const header = signWebhook(WEBHOOK_SECRET, Buffer.from(signed), gateway.cardsNow())
  const answered = await fetch(`${gateway.origin}/gateway/api/bill/webhook/${platform}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(signature === null ? {} : { [SIGNATURE_HEADER]: header }),
    },
    body,
  })
  const { code } = (await answered.json()) as { code?: string }
  return { status: answered.status, code }
}
