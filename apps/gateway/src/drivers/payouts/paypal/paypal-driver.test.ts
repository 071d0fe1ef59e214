import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type PaypalMood, type PaypalServer, startPaypalServer } from '../../../../test/paypal-server.ts'
import { PayoutDoubtful, PayoutRefused, PayoutUnavailable } from '../port.ts'
import { createPaypalPayouts } from './paypal-driver.ts'

/**
 * Goal: the driver pays a key once, and says of each answer of PayPal's what follows from it (R9.7).
 * Method: a double of the Payouts API, by its reference.
 */

let paypal: PaypalServer
let nowMs = Date.parse('2027-01-10T00:00:00Z')
beforeAll(async () => {
  paypal = await startPaypalServer()
})
afterAll(() => paypal.stop())
beforeEach(() => paypal.setMood('well'))

const driver = () => createPaypalPayouts(paypal.access, { clock: { now: () => new Date(nowMs) } })
const request = (key: string = randomUUID()) => ({
  ...{ key, email: 'mira@example.org', cents: 2_507, currency: 'USD' as const },
  note: 'Berth · 2026-Q4',
})

test('[R9.7] pays what was asked for, to whom, once for a key, and asks with a token that it keeps', async () => {
  const asking = driver()
  const one = request()
  const { batch_id } = await asking.pay(one)
  expect(await asking.pay(one)).toEqual({ batch_id })
  expect(await driver().pay(one)).toEqual({ batch_id })
  expect(paypal.payouts).toMatchObject([
    { sender_batch_id: one.key, receiver: 'mira@example.org', value: '25.07', currency: 'USD' },
  ])
  expect(paypal.asked.filter(({ path }) => path.endsWith('/token'))).toHaveLength(2)
  expect(
    paypal.asked.find(({ method, path }) => method === 'POST' && path.endsWith('/payouts'))?.requestId,
  ).toBe(one.key)
})

test('[R9.7] an answer that was lost is found by the same key', async () => {
  const one = request()
  paypal.setMood('answer_lost')
  await expect(driver().pay(one)).rejects.toBeInstanceOf(PayoutUnavailable)
  paypal.setMood('well')
  const { batch_id } = await driver().pay(one)
  expect(paypal.payouts.filter(({ sender_batch_id }) => sender_batch_id === one.key)).toMatchObject([
    { payout_batch_id: batch_id },
  ])
})

test.each<[PaypalMood, unknown, string?]>([
  ['down', PayoutUnavailable],
  ['no_funds', PayoutUnavailable],
  ['forbidden', PayoutUnavailable],
  ['nonsense', PayoutUnavailable],
  ['endless', PayoutUnavailable],
  ['bad_receiver', PayoutRefused, 'account_unknown'],
  ['duplicate_unnamed', PayoutDoubtful],
])('says what follows from an answer: %s', async (mood, error, failure) => {
  paypal.setMood(mood)
  const refusal = await driver()
    .pay(request())
    .catch((reason: unknown) => reason)
  expect(refusal).toBeInstanceOf(error)
  if (failure) expect(refusal).toMatchObject({ failure })
})

test.each([
  ['SUCCESS', null, { status: 'paid' }],
  ['PENDING', null, { status: 'pending' }],
  ['ONHOLD', null, { status: 'pending' }],
  ['UNCLAIMED', 'RECEIVER_UNREGISTERED', { status: 'pending' }],
  ['FAILED', 'RECEIVER_ACCOUNT_LOCKED', { status: 'failed', failure: 'account_refused' }],
  ['RETURNED', 'RECEIVER_UNREGISTERED', { status: 'failed', failure: 'account_unknown' }],
  ['BLOCKED', 'SOMETHING_NEW', { status: 'failed', failure: 'other' }],
])('reads what became of it: %s', async (status, error, answer) => {
  const one = request()
  const { batch_id } = await driver().pay(one)
  expect(await driver().read(batch_id)).toEqual({ status: 'pending' })
  paypal.decide(one.key, status, error)
  expect(await driver().read(batch_id)).toEqual(answer)
})

test('a token that ended is replaced, once', async () => {
  const asking = driver()
  await asking.pay(request())
  paypal.endTokens()
  await asking.pay(request())
  nowMs += 10 * 3_600_000
  await asking.pay(request())
  const wrong = createPaypalPayouts(
    { ...paypal.access, secret: 'x' },
    { clock: { now: () => new Date(nowMs) } },
  )
  await expect(wrong.pay(request())).rejects.toBeInstanceOf(PayoutUnavailable)
})

test('says whether real money moves: at PayPal, and not at its sandbox or a double', () => {
  const at = (apiUrl: string) =>
    createPaypalPayouts({ ...paypal.access, apiUrl }, { clock: { now: () => new Date(nowMs) } })
  expect(at('https://api-m.paypal.com').test).toBe(false)
  for (const url of ['https://api-m.sandbox.paypal.com', paypal.access.apiUrl])
    expect(at(url).test).toBe(true)
})
