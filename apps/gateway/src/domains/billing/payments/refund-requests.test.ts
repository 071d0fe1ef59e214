import { randomUUID } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type PaymentDriver, PaymentRefused, PaymentUnavailable } from '../../../drivers/payments/port.ts'
import { createOperatorFixture } from '../../../operator/type-commands-fixture.ts'
import { type BillingFixture, createBillingFixture, topupRequest, UNIT } from '../billing-fixture.ts'
import { paymentRefunded } from '../events.ts'

/** Goal: an operator gives back what is left of a payment, once for each id, also where a process dies between two steps. */

let fixture: BillingFixture
let userId: string
let payment: string
beforeAll(async () => {
  fixture = await createBillingFixture()
})
afterAll(() => fixture.database.drop())
beforeEach(async () => {
  userId = await fixture.customer()
  payment = (await fixture.billing.topUp(topupRequest(userId))).transaction_id
})

/** What an operator types after `refunds`, on the installation of the test or a damaged one. @throws What they are told. */
async function type(words: string, billing = fixture.billing) {
  const operator = createOperatorFixture({ ...fixture, installation: { billing } })
  const { exit, out, err } = await operator.type(`refunds ${words} --json`)
  if (exit !== 0) throw new Error(err)
  return JSON.parse(out) as Record<string, unknown>
}

const cash = () => fixture.billing.balanceCents(userId)
const credited = async () =>
  (await fixture.billing.invoices.list(userId, { page: 1, page_size: 9 })).items
    .filter(({ kind }) => kind === 'refund')
    .map(({ amount }) => amount)
const toldOfUser = () =>
  fixture.events.told.filter(
    ({ event, payload }) =>
      event === paymentRefunded.name && (payload as { userId: string }).userId === userId,
  ).length

test('[R6.5] [B23] a refund by the operator takes the cash, has a credit note, and is told to the customer', async () => {
  const done = await type(`create --payment ${payment} --amount 10.50`)
  expect(done).toMatchObject({ payment_id: payment, user_id: userId, amount_cents: 1_050, state: 'done' })
  expect([await cash(), await credited(), toldOfUser()]).toEqual([1_450, [-1_050], 1])
  // All that is left.
  expect(await type(`create --payment ${payment}`)).toMatchObject({ amount_cents: 1_450, state: 'done' })
  expect([await cash(), await credited()]).toEqual([0, [-1_450, -1_050]])
  expect(await type('list')).toMatchObject([{ amount_cents: 1_450 }, { amount_cents: 1_050 }])
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test('[B3] the same id refunds once, however often and at once; with other content it is refused', async () => {
  const id = randomUUID()
  const line = `create --payment ${payment} --amount 5 --id ${id}`
  await Promise.all([type(line), type(line), type(line)])
  await type(line)
  expect([await cash(), await credited(), toldOfUser()]).toEqual([2_000, [-500], 1])
  await expect(type(`create --payment ${payment} --amount 6 --id ${id}`)).rejects.toThrow('another refund')
})

test('[B2] cash that was spent or set aside, or was given back, cannot be refunded', async () => {
  await expect(type(`create --payment ${payment} --amount 25.01`)).rejects.toThrow('2500 cents are left')
  await fixture.open({ userId, instanceId: 'i-a', rateMicroPerHour: 10n * UNIT })
  fixture.clock.advance(3_600)
  await fixture.close({ userId, instanceId: 'i-a' })
  await fixture.hold({ userId, instanceId: 'i-b', amountMicro: 5n * UNIT })
  await expect(type(`create --payment ${payment}`)).rejects.toThrow(/spent cannot be refunded.* 1000 cents/)
  await type(`create --payment ${payment} --amount 10`)
  await expect(type(`create --payment ${payment} --amount 15.01`)).rejects.toThrow('1500 cents are left')
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test('[R6.5] what is no settled payment is refused in words', async () => {
  await expect(type(`create --payment t_${randomUUID()}`)).rejects.toThrow('no such payment')
  await expect(type('create --payment r_1')).rejects.toThrow('no such payment')
  await fixture.billing.topUp(topupRequest(userId, { source: '4000000000000002' })).catch(() => {})
  const { items } = await fixture.billing.transactions(userId, { page: 1, page_size: 9 })
  await expect(
    type(`create --payment ${items.find(({ status }) => status === 'failed')?.id}`),
  ).rejects.toThrow('not settled')
})

test.each(['before', 'after'] as const)(
  '[B3] a refund whose answer is lost %s the platform gave it back is finished by recovery, once',
  async when => {
    const lost: PaymentDriver = {
      ...fixture.driver,
      async refund(request) {
        if (when === 'after') await fixture.driver.refund(request)
        throw new PaymentUnavailable('lost')
      },
    }
    const asked = await type(`create --payment ${payment} --amount 7`, fixture.replica({ payments: [lost] }))
    expect(asked).toMatchObject({ state: 'asked', finished_at: null })
    // What is asked for is not given away twice.
    await expect(type(`create --payment ${payment} --amount 18.01`)).rejects.toThrow('1800 cents are left')
    await fixture.billing.recoverTopups()
    fixture.clock.advance(60)
    await fixture.billing.recoverTopups()
    expect([await cash(), await credited(), toldOfUser()]).toEqual([1_800, [-700], 1])
    expect(await type('list')).toContainEqual(expect.objectContaining({ id: asked.id, state: 'done' }))
    expect(await fixture.billing.checkBooks()).toEqual([])
  },
)

test('[R6.5] what a platform refuses is written down, and its money is free again', async () => {
  const refuses: PaymentDriver = {
    ...fixture.driver,
    refund: () => Promise.reject(new PaymentRefused('too old', 'payment_failed')),
  }
  const billing = fixture.replica({ payments: [refuses] })
  expect(await type(`create --payment ${payment}`, billing)).toMatchObject({
    state: 'refused',
    failure: 'too old',
  })
  expect([await cash(), await credited()]).toEqual([2_500, []])
  expect(await type(`create --payment ${payment}`)).toMatchObject({ state: 'done' })
  const { rows } = await fixture.db.execute(sql`select 1 from refund_request where state = 'asked'`)
  expect(rows).toEqual([])
})

test('[B3] what goes wrong in another way is not called refused: nobody knows that nothing was given back', async () => {
  const breaks: PaymentDriver = {
    ...fixture.driver,
    async refund(request) {
      await fixture.driver.refund(request)
      throw new TypeError('no answer can be read')
    },
  }
  const line = `create --payment ${payment} --amount 7 --id ${randomUUID()}`
  expect(await type(line, fixture.replica({ payments: [breaks] }))).toMatchObject({ state: 'asked' })
  expect(await type(line)).toMatchObject({ state: 'done' })
  expect([await cash(), await credited()]).toEqual([1_800, [-700]])
})

test('[B2] several at once, by several operators, never give back more than was paid', async () => {
  const other = fixture.replica({})
  const tries = await Promise.allSettled(
    Array.from({ length: 6 }, (_, at) =>
      type(`create --payment ${payment} --amount 10`, at % 2 === 0 ? fixture.billing : other),
    ),
  )
  expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(2)
  // Two that the platform has made before either is written down are one growth of what it gave back, with one note.
  const notes = await credited()
  expect([await cash(), notes.reduce((sum, amount) => sum + amount, 0)]).toEqual([500, -2_000])
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test.each([
  ['refunds create', /--payment/],
  ['refunds create --payment t_1 --amount 0', /more than nothing/],
  ['refunds create --payment t_1 --amount 1.234', /two decimals/],
  ['refunds create --payment t_1 --amount -1', /as --amount=-5/],
  ['refunds create --payment t_1 --amount=-1', /more than nothing|--amount/],
  [`refunds create --payment t_1 --id ${'x'.repeat(61)}`, /at most 60/],
  ['refunds create t_1', /too much/],
  ['refunds list --payment t_1', /goes with refunds create/],
  ['images queue --payment t_1', /goes with refunds create/],
])('[R6.5] %s is refused in words', async (typed, words) => {
  const operator = createOperatorFixture({ ...fixture, installation: fixture })
  expect(await operator.type(typed)).toMatchObject({ exit: 2, out: '', err: expect.stringMatching(words) })
})
