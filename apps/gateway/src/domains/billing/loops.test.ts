import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { lease } from '../../platform/database/tables.ts'
import { type BillingFixture, createBillingFixture, topupRequest, UNIT } from './billing-fixture.ts'
import { createBillingLoops } from './loops.ts'

const METERING_MS = 20

let fixture: BillingFixture
let stops: (() => Promise<void>)[]
beforeEach(async () => {
  fixture = await createBillingFixture()
  stops = []
})
afterEach(async () => {
  await Promise.all(stops.map(stop => stop()))
  await fixture.database.drop()
})

test('usage is posted at each tick, and a customer with nothing left is handed on', async () => {
  const userId = await fixture.customer({ creditCents: 100 })
  await fixture.open({ userId, instanceId: 'i-a', rateMicroPerHour: UNIT })
  const exhausted: string[] = []
  start({ onExhausted: async user => void exhausted.push(user) })
  fixture.clock.advance(1_800)
  await vi.waitFor(async () => expect(await fixture.billing.balanceCents(userId)).toBe(50))
  expect(exhausted).toEqual([])
  fixture.clock.advance(1_800)
  await vi.waitFor(() => expect(exhausted).toContain(userId))
})

test('[B3] what a killed gateway left open is finished at the start, though its lease still runs', async () => {
  const userId = await fixture.customer()
  const dying = fixture.replica({
    payments: [{ ...fixture.driver, createIntent: () => Promise.reject(new Error('killed')) }],
  })
  await expect(dying.topUp(topupRequest(userId))).rejects.toThrow('killed')
  const until = new Date(fixture.clock.now().getTime() + 60_000)
  await fixture.db.insert(lease).values({ name: 'billing.topups', owner: 'the dead one', until })
  start({})
  await vi.waitFor(async () => expect(await fixture.billing.balanceCents(userId)).toBe(2_500))
})

test('a round that fails is followed by the next', async () => {
  let rounds = 0
  const failing = {
    ...fixture.billing,
    postDue: async () => {
      rounds += 1
      if (rounds === 1) throw new Error('the database is away')
      return { exhausted: ['a', 'b'] }
    },
  }
  const told: string[] = []
  start({
    billing: failing,
    onExhausted: async user => {
      told.push(user)
      throw new Error('could not be stopped')
    },
  })
  await vi.waitFor(() => expect(told.slice(0, 4)).toEqual(['a', 'b', 'a', 'b']))
})

test('of two replicas one keeps the metering', async () => {
  const ticks = { first: 0, second: 0 }
  const counting = (name: keyof typeof ticks) => ({
    ...fixture.billing,
    postDue: async () => {
      ticks[name] += 1
      return { exhausted: [] }
    },
  })
  start({ owner: 'first', billing: counting('first') })
  await vi.waitFor(() => expect(ticks.first).toBeGreaterThan(0))
  start({ owner: 'second', billing: counting('second') })
  const before = ticks.first
  await vi.waitFor(() => expect(ticks.first).toBeGreaterThan(before + 3))
  expect(ticks.second).toBe(0)
})

test('stop waits for the round that is under way and starts no other', async () => {
  const release = Promise.withResolvers<void>()
  let rounds = 0
  const loops = start({
    billing: {
      ...fixture.billing,
      postDue: async () => {
        rounds += 1
        await release.promise
        return { exhausted: [] }
      },
    },
  })
  await vi.waitFor(() => expect(rounds).toBe(1))
  let stopped = false
  const stopping = loops.stop().then(() => {
    stopped = true
  })
  await Promise.resolve()
  expect(stopped).toBe(false)
  release.resolve()
  await stopping
  expect(rounds).toBe(1)
})

function start(changes: Partial<Parameters<typeof createBillingLoops>[0]>) {
  const loops = createBillingLoops({
    afterTick: async () => {},
    ...fixture,
    owner: 'this one',
    meteringMs: METERING_MS,
    onExhausted: async () => {},
    ...changes,
  })
  stops.push(loops.stop)
  loops.start()
  return loops
}
