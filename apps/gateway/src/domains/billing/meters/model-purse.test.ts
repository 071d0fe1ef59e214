import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { systemIds } from '../../../platform/ids.ts'
import { type BillingFixture, createBillingFixture } from '../billing-fixture.ts'
import type { Subject } from '../subject.ts'
import { usageInterval } from './tables.ts'

/**
 * Goal: what was set aside for a call of a model is there when it ends, whatever other calls and machines take meanwhile (B2,
 * B10).
 * Method: two calls, of which the first has all credits for models and the second none; the second ends first, and a machine
 * takes all that is available then.
 */

const FREE_MICRO = 100n
const COMMON_MICRO = 1_000n

let fixture: BillingFixture
let userId: string

beforeAll(async () => {
  fixture = await createBillingFixture()
})
afterAll(async () => {
  await fixture.database.drop()
})
beforeEach(async () => {
  userId = await fixture.customer()
  const grant = (amountMicro: bigint, modelsOnly: boolean) =>
    fixture.db.transaction(tx =>
      fixture.billing.grantCredit(tx, {
        ...{ id: systemIds.uuid(), userId, amountMicro, kind: 'bonus', reason: 'test', modelsOnly },
      }),
    )
  await grant(COMMON_MICRO, false)
  await grant(FREE_MICRO, true)
})

async function begin(...amounts: bigint[]): Promise<Subject[]> {
  const { db, billing } = fixture
  const calls = amounts.map(() => ({ kind: 'model_call' as const, id: systemIds.uuid() }))
  await db.transaction(async tx => {
    await billing.lockWallet(tx, userId)
    const purse = await billing.openModelPurse(tx, userId)
    for (const [nth, amountMicro] of amounts.entries()) purse.take(calls[nth]?.id ?? '', amountMicro)
    await purse.write()
  })
  return calls
}

function counted(subject: Subject, micro: bigint) {
  const meter = {
    sku: 'model.one.image',
    label: 'one, image',
    unit: 'image' as const,
    quantity: 1,
    rateMicro: micro,
  }
  return { userId, subject, name: 'one', meters: [meter], at: fixture.clock.now() }
}

/** @param paid.from What pays for it; left out: what was set aside for itself. */
async function end(subject: Subject, micro: bigint, paid: { from?: Subject } = {}): Promise<void> {
  const { db, billing, clock } = fixture
  const how = paid.from
    ? { subjects: [], counted: [{ ...counted(subject, micro), paidFrom: paid.from }] }
    : { subjects: [subject], counted: [counted(subject, micro)] }
  await db.transaction(async tx => {
    await billing.lockWallet(tx, userId)
    await billing.settle(tx, { userId, at: clock.now(), ...how })
  })
}

async function holdAll(): Promise<void> {
  const { availableMicro } = await fixture.billing.totals(fixture.db, userId)
  await fixture.hold({ userId, instanceId: systemIds.uuid(), amountMicro: availableMicro })
}

async function waivedMicro(): Promise<bigint> {
  const rows = await fixture.db.select().from(usageInterval)
  return rows.reduce((sum, row) => sum + (row.userId === userId ? row.waivedMicro : 0n), 0n)
}

test('[B2] [B10] credits for models that are set aside for one call are taken by no other', async () => {
  const [first, second] = await begin(FREE_MICRO, 100n)
  if (!first || !second) throw new Error('two calls began')
  await end(second, 80n)
  await holdAll()
  await end(first, FREE_MICRO)
  expect(await waivedMicro()).toBe(0n)
  expect((await fixture.billing.totals(fixture.db, userId)).freeMicro).toBe(0n)
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test('[B2] [B10] calls that one hold pays for use its credits for models first, and nobody else’s', async () => {
  // The first hold has all credits for models but ten.
  const [first, second] = await begin(FREE_MICRO - 10n, 100n)
  if (!first || !second) throw new Error('two holds were made')
  const call = () => ({ kind: 'model_call' as const, id: systemIds.uuid() })
  await end(call(), 30n, { from: second })
  expect((await fixture.billing.totals(fixture.db, userId)).freeMicro).toBe(FREE_MICRO - 10n)
  await end(call(), 50n, { from: first })
  expect((await fixture.billing.totals(fixture.db, userId)).freeMicro).toBe(40n)
  await holdAll()
  await end(call(), 40n, { from: first })
  await end(call(), 70n, { from: second })
  expect(await waivedMicro()).toBe(0n)
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test('[B10] credits for models that no call has set aside are used before what was', async () => {
  const [call] = await begin(FREE_MICRO + 50n)
  if (!call) throw new Error('a call began')
  await end(call, 20n)
  const { freeMicro, availableMicro } = await fixture.billing.totals(fixture.db, userId)
  expect([freeMicro, availableMicro]).toEqual([80n, COMMON_MICRO])
})
