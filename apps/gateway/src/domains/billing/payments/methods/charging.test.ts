import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type BillingFixture, createBillingFixture, topupRequest } from '../../billing-fixture.ts'
import { whileLocked } from '../../wallet-lock-fixture.ts'
import { paymentIntent } from '../tables.ts'
import { methodRowId } from './stored.ts'
import { paymentMethod } from './tables.ts'

/** Goal: a saved card is charged for what its own customer asked for, once, and not when it was removed (R2.22, R3.7). */

const VISA = '4242 4242 4242 4242'

let fixture: BillingFixture
let userId: string
beforeAll(async () => {
  fixture = await createBillingFixture()
})
beforeEach(async () => {
  userId = await fixture.customer()
})
afterAll(() => fixture.database.drop())

const keep = async (of = userId, source = VISA) =>
  (await fixture.billing.methods.add(of, { platformName: 'testcard', source })).method

test('[B3] a key again with what was entered in place of what was saved, or to keep it, is another top-up', async () => {
  const { id: methodId } = await keep()
  const entered = topupRequest(userId)
  await fixture.billing.topUp(entered)
  const reused = { code: 'idempotency_key_reused' }
  const others = [{ source: undefined, methodId }, { savesMethod: true }, { amountCents: 2_501 }]
  for (const changes of others) {
    await expect(fixture.billing.topUp({ ...entered, ...changes })).rejects.toMatchObject(reused)
  }
  expect(await fixture.billing.balanceCents(userId)).toBe(2_500)
})

test('[R3.7] a card that is removed while a top-up of it waits its turn is not charged', async () => {
  const { id } = await keep()
  const charge = whileLocked(fixture, userId, {
    change: tx =>
      tx
        .update(paymentMethod)
        .set({ state: 'removing', isDefault: false })
        .where(eq(paymentMethod.id, methodRowId(id) ?? '')),
    meanwhile: () => fixture.billing.topUp({ ...topupRequest(userId), source: undefined, methodId: id }),
  })
  await expect(charge).rejects.toMatchObject({ code: 'not_found' })
  const begun = await fixture.db.select().from(paymentIntent).where(eq(paymentIntent.userId, userId))
  expect(begun).toEqual([])
})

test("[R6.4] [R3.7] one customer's default is nobody else's: neither made, changed nor removed", async () => {
  const own = await keep()
  const stranger = await fixture.customer()
  await keep(stranger)
  const second = await keep(stranger, '5555 5555 5555 4444')
  const { methods } = fixture.billing
  await methods.makeDefault(stranger, second.id, {})
  expect(await methods.list(userId)).toMatchObject([{ id: own.id, is_default: true }])
  const notFound = { code: 'not_found' }
  await expect(methods.makeDefault(stranger, own.id, {})).rejects.toMatchObject(notFound)
  await expect(methods.remove(stranger, own.id)).rejects.toMatchObject(notFound)
  await methods.remove(stranger, second.id)
  expect(await methods.list(userId)).toMatchObject([{ id: own.id, is_default: true, status: 'saved' }])
})
