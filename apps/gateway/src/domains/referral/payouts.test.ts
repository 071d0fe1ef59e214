import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type PaypalServer, startPaypalServer } from '../../../test/paypal-server.ts'
import { createPaypalPayouts } from '../../drivers/payouts/paypal/paypal-driver.ts'
import { type PayoutDriver, PayoutUnavailable } from '../../drivers/payouts/port.ts'
import { readmitCustomer, suspendCustomer } from '../customers/customers.ts'
import type { Referral } from './referral.ts'
import { createReferralFixture, type ReferralFixture } from './referral-fixture.ts'
import { referralPayout } from './tables.ts'

/**
 * Goal: each payout is paid at most once, through lost answers, crashes and two gateways at once (R9.7).
 * Method: the domain with the PayPal driver, against a double of PayPal that counts what it pays.
 */

let fixture: ReferralFixture
let paypal: PaypalServer
let driver: PayoutDriver
let referral: Referral
let mira: string
let turn = 0
beforeAll(async () => {
  fixture = await createReferralFixture()
  paypal = await startPaypalServer()
  driver = createPaypalPayouts(paypal.access, fixture)
  referral = fixture.referralWith({ payouts: driver })
})
afterAll(async () => {
  await paypal.stop()
  await fixture.database.drop()
})
beforeEach(async () => {
  paypal.setMood('well')
  mira = await toBePaid()
})

const payoutOf = async (userId = mira) => {
  const rows = await fixture.db.select().from(referralPayout).where(eq(referralPayout.userId, userId))
  return rows.at(-1)
}
const stateOf = async (userId = mira) =>
  (await referral.quarters(userId, { page: 1, page_size: 20 })).items.find(({ state }) => state !== 'open')
const paidTo = (userId = mira) => paypal.payouts.filter(({ receiver }) => receiver === emails.get(userId))
const emails = new Map<string, string>()
const wait = (minutes: number) => fixture.clock.advance(minutes * 60)

/** Somebody whose money is due: $20.00, of which $16.00 are paid. */
async function toBePaid(): Promise<string> {
  turn += 1
  await fixture.passTo(`${2030 + turn}-01-05T00:00:00Z`)
  const userId = await fixture.person()
  const friend = await fixture.friendOf(userId)
  await fixture.pay(friend, 30_000)
  await fixture.spend(friend, 305_000_000n)
  const email = `mira-${turn}@example.org`
  emails.set(userId, email)
  await referral.paypal.set(userId, email)
  await fixture.sendMails()
  const { text = '' } = fixture.mails.findLast(({ to }) => to === email) ?? {}
  await referral.paypal.confirm(userId, /paypal=([\w-]+)/.exec(text)?.[1] ?? '')
  await referral.choose(userId, `${2030 + turn}-Q1`, 'cash')
  for (const day of ['01T07:00:00Z', '05T00:00:00Z']) {
    fixture.clock.advance((Date.parse(`${2030 + turn}-04-${day}`) - fixture.clock.now().getTime()) / 1_000)
    await referral.settle()
  }
  return userId
}

test('[R9.7] is paid by PayPal, and noted when PayPal says so', async () => {
  expect(await payoutOf()).toMatchObject({ state: 'queued', cents: 1_600, driver: 'paypal' })
  await referral.payOut()
  expect(paidTo()).toMatchObject([{ value: '16.00', currency: 'USD' }])
  wait(2)
  await referral.payOut()
  expect(await stateOf()).toMatchObject({ state: 'paying', pending_payout_micro: '16000000' })
  paypal.decide((await payoutOf())?.id ?? '', 'SUCCESS')
  wait(2)
  await referral.payOut()
  expect(await stateOf()).toMatchObject({
    state: 'paid',
    settled_payout_micro: '16000000',
    fee_micro: '4000000',
  })
  wait(600)
  await referral.payOut()
  expect(paidTo()).toHaveLength(1)
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test('[R9.7] [R6.5] whoever is kept out is paid nothing until they are let in again, and others are meanwhile', async () => {
  const until = new Date(fixture.clock.now().getTime() + 86_400_000)
  const kept = { userId: mira, at: fixture.clock.now(), reason: 'farming', machinesUntil: until }
  await fixture.db.transaction(tx => suspendCustomer(tx, kept))
  const other = await toBePaid()
  await referral.payOut()
  expect(paidTo()).toEqual([])
  expect(await payoutOf()).toMatchObject({ state: 'queued' })
  expect(paidTo(other)).toHaveLength(1)
  await fixture.db.transaction(tx => readmitCustomer(tx, mira))
  await referral.payOut()
  expect(paidTo()).toMatchObject([{ value: '16.00' }])
})

test('[R9.7] a lost answer, a gateway that dies behind it and another one pay it once', async () => {
  paypal.setMood('answer_lost')
  await referral.payOut()
  expect(await payoutOf()).toMatchObject({ state: 'sending', batchId: null })
  // It died before it could write anything down: what it had taken is due again a minute later.
  paypal.setMood('well')
  for (let count = 0; count < 3; count += 1) {
    wait(2)
    await Promise.all([referral.payOut(), fixture.referralWith({ payouts: driver }).payOut()])
  }
  expect(await payoutOf()).toMatchObject({ state: 'sent', batchId: paidTo()[0]?.payout_batch_id })
  expect(paidTo()).toHaveLength(1)
})

test('[R9.7] one that was on its way for longer than PayPal knows its key is not sent again: an operator looks', async () => {
  const silent: PayoutDriver = {
    ...driver,
    pay: async () => {
      throw new PayoutUnavailable('no answer')
    },
  }
  await fixture.referralWith({ payouts: silent }).payOut()
  fixture.clock.advance(26 * 86_400)
  await referral.payOut()
  expect(await payoutOf()).toMatchObject({ state: 'unclear' })
  expect(paidTo()).toHaveLength(0)
  wait(600)
  await referral.payOut()
  expect(paidTo()).toHaveLength(0)
  expect(await referral.payouts.markFailed((await payoutOf())?.id ?? '')).toBe('done')
  expect(await stateOf()).toMatchObject({ state: 'failed' })
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test('what PayPal refuses, or gives back after a month, is chosen anew', async () => {
  paypal.setMood('bad_receiver')
  await referral.payOut()
  expect(await stateOf()).toMatchObject({ state: 'failed', failure: 'account_unknown' })
  expect(await fixture.billing.checkBooks()).toEqual([])
  paypal.setMood('well')
  await referral.choose(mira, (await stateOf())?.quarter ?? '', 'cash')
  fixture.clock.advance(73 * 3_600)
  await referral.settle()
  await referral.payOut()
  paypal.decide((await payoutOf())?.id ?? '', 'UNCLAIMED', 'RECEIVER_UNREGISTERED')
  fixture.clock.advance(20 * 86_400)
  await referral.payOut()
  expect(await stateOf()).toMatchObject({ state: 'paying' })
  paypal.decide((await payoutOf())?.id ?? '', 'RETURNED', 'RECEIVER_UNREGISTERED')
  fixture.clock.advance(11 * 86_400)
  await referral.payOut()
  expect(await stateOf()).toMatchObject({ state: 'failed', failure: 'account_unknown' })
  expect(paidTo()).toHaveLength(1)
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test('[R9.7] what waits to be paid by hand is in one file, once', async () => {
  const byHand = fixture.referral
  const other = await toBePaid()
  await fixture.db
    .update(referralPayout)
    .set({ driver: 'by-hand', lookAt: null })
    .where(eq(referralPayout.state, 'queued'))
  const [one, two] = await Promise.all([byHand.payouts.export(), byHand.payouts.export()])
  const made = [one, two].filter(file => file !== null)
  expect(made.reduce((all, { count }) => all + count, 0)).toBe(2)
  const text = (await Promise.all(made.map(async ({ body }) => (await body.toArray()).join('')))).join('')
  for (const userId of [mira, other]) {
    const id = (await payoutOf(userId))?.id ?? ''
    expect(text.split(id)).toHaveLength(2)
    expect(text).toContain(`${id},${emails.get(userId)},16.00,USD`)
  }
  expect(await byHand.payouts.export()).toBeNull()
  const again = await byHand.payouts.export(made[0]?.batchId)
  expect(again?.count).toBe(made[0]?.count)
  again?.body.destroy()
  expect(await byHand.payouts.export('f-nothing')).toBeNull()
  expect(await byHand.payouts.markPaid('01890000-0000-7000-8000-000000000000', '')).toBe('not_found')
  await referral.payOut()
  expect(paidTo()).toHaveLength(0)
})
