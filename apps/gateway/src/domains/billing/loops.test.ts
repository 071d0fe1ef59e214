import { sql } from 'drizzle-orm'
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

test('[R3.7] saved methods are looked after, though top-ups cannot be recovered', async () => {
  let rounds = 0
  const recovered = Promise.withResolvers<void>()
  start({
    billing: {
      ...fixture.billing,
      recoverTopups: async () => {
        rounds += 1
        throw new Error('the database is away')
      },
      methods: {
        async recover() {
          recovered.resolve()
          return 0
        },
      },
    },
  })
  await recovered.promise
  expect(rounds).toBe(1)
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

test('[B2] the books are checked soon after the start and then daily, and each difference is an error of the log', async () => {
  const userId = await fixture.customer({ creditCents: 100 })
  const told: unknown[] = []
  let checks = 0
  start({
    log: { info: () => undefined, error: (about: unknown) => void told.push(about) } as never,
    booksLookMs: METERING_MS,
    billing: {
      ...fixture.billing,
      checkBooks: async signal => {
        const problems = await fixture.billing.checkBooks(signal)
        checks += 1
        return problems
      },
    },
  })
  await vi.waitFor(() => expect(checks).toBe(1))
  expect(told).toEqual([])
  await fixture.db.execute(
    sql`update ledger_account set balance_micro = 7 where user_id = ${userId} and id like '%:cash'`,
  )
  fixture.clock.advance(86_399)
  fixture.clock.advance(1)
  await vi.waitFor(() => expect(told.length).toBeGreaterThan(0))
  expect(checks).toBe(2)
  expect(JSON.stringify(told)).toMatch(/cash: 7 in the row, 0 by its transfers/)
})

test('[B2] a check of the books that is under way ends with its gateway', async () => {
  const stop = new AbortController()
  const held = Promise.withResolvers<void>()
  // Somebody keeps a table that a rule reads, so that the check waits.
  const holding = fixture.db.transaction(async tx => {
    await tx.execute(sql`lock table ledger_transfer in access exclusive mode`)
    await held.promise
  })
  await vi.waitFor(async () => {
    const { rows } = await fixture.db.execute(
      sql`select 1 from pg_locks where mode = 'AccessExclusiveLock' and relation = 'ledger_transfer'::regclass and granted`,
    )
    expect(rows).toHaveLength(1)
  })
  const checking = fixture.billing.checkBooks(stop.signal)
  checking.catch(() => undefined)
  await vi.waitFor(async () => {
    const { rows } = await fixture.db.execute(
      sql`select 1 from pg_locks where relation = 'ledger_transfer'::regclass and not granted`,
    )
    expect(rows).toHaveLength(1)
  })
  stop.abort(new Error('the gateway ends'))
  await expect(checking).rejects.toThrow('the gateway ends')
  held.resolve()
  await holding
  expect(await fixture.billing.checkBooks()).toEqual([])
})

function start(changes: Partial<Parameters<typeof createBillingLoops>[0]>) {
  const loops = createBillingLoops({
    afterTick: async () => {},
    onBooksChecked: async () => {},
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
