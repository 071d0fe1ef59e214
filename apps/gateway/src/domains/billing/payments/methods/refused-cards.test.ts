import { REFUSED_CARDS_PER_DAY_MAX } from '@berth/contract/limits'
import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { testcardMethod } from '../../../../drivers/payments/tables.ts'
import { accountDeleted } from '../../../identity/events.ts'
import { type BillingFixture, createBillingFixture, topupRequest } from '../../billing-fixture.ts'
import { paymentMethod } from './tables.ts'

/** Goal: nobody has the banks say of a heap of stolen numbers which are good, and a customer with bad luck reads when it goes on. */

const GOOD = '4242 4242 4242 4242'
const OTHER = '5555 5555 5555 4444'
const DECLINED = '4000000000000002'
const REFUSED = '4000000000000069'

let fixture: BillingFixture
let userId: string
beforeAll(async () => {
  fixture = await createBillingFixture()
})
beforeEach(async () => {
  userId = await fixture.customer()
})
afterAll(() => fixture.database.drop())

const add = (source = GOOD) => fixture.billing.methods.add(userId, { platformName: 'testcard', source })
const pay = (source = GOOD) => fixture.billing.topUp(topupRequest(userId, { source }))
const rows = () => fixture.db.select().from(paymentMethod).where(eq(paymentMethod.userId, userId))
const tooMany = (hours: number) => ({
  code: 'cards_refused_limit',
  values: { limit: REFUSED_CARDS_PER_DAY_MAX, hours },
})

test('after so many refused cards within a day no other is tried, to be kept or to pay with, until the first is a day old', async () => {
  const { method } = await add()
  await expect(add(REFUSED)).rejects.toMatchObject({ code: 'card_expired' })
  fixture.clock.advance(3 * 3_600)
  for (let nth = 1; nth < REFUSED_CARDS_PER_DAY_MAX; nth++) {
    await expect(nth % 2 === 0 ? add(REFUSED) : pay(DECLINED)).rejects.toMatchObject({
      code: expect.stringMatching(/^card_/),
    })
  }
  const before = await fixture.db.$count(testcardMethod)
  await expect(add(OTHER)).rejects.toMatchObject(tooMany(21))
  await expect(pay(OTHER)).rejects.toMatchObject(tooMany(21))
  expect(await fixture.db.$count(testcardMethod)).toBe(before)
  // What is saved has nothing to do with it: it is answered when it is added again, and it pays.
  expect((await add()).method.id).toBe(method.id)
  await fixture.billing.topUp({ ...topupRequest(userId), source: undefined, methodId: method.id })
  // Nor have others.
  const unlucky = userId
  userId = await fixture.customer()
  await add(OTHER)
  userId = unlucky
  fixture.clock.advance(21 * 3_600)
  await fixture.billing.methods.recover()
  await add(OTHER)
})

test('cards that were refused are counted though their customer removes them from the list, and for nobody once the account is deleted', async () => {
  await expect(add(REFUSED)).rejects.toMatchObject({ code: 'card_expired' })
  expect(await fixture.billing.methods.list(userId)).toEqual([])
  const [row] = await rows()
  expect(row).toMatchObject({ state: 'counted', source: null })
  // As one whose bank refused it at its own page.
  await fixture.db.update(paymentMethod).set({ state: 'refused' }).where(eq(paymentMethod.userId, userId))
  const [listed] = await fixture.billing.methods.list(userId)
  await fixture.billing.methods.remove(userId, listed?.id ?? '')
  expect(await fixture.billing.methods.list(userId)).toEqual([])
  await expect(fixture.billing.methods.remove(userId, listed?.id ?? '')).rejects.toMatchObject({
    code: 'not_found',
  })
  expect(await rows()).toMatchObject([{ state: 'counted' }])
  await fixture.events.hear(accountDeleted, { userId })
  await fixture.billing.methods.recover()
  expect(await rows()).toEqual([])
})
