import { randomUUID } from 'node:crypto'
import { sql } from 'drizzle-orm'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { shippedCatalogue } from '../../../test/shipped-catalogue.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import { systemClock } from '../../platform/clock.ts'
import { lockForUser } from '../../platform/database/user-lock.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import { systemIds } from '../../platform/ids.ts'
import { createPublicIps, type PublicIps } from './public-ips.ts'

const NORTH = ['203.0.113.1', '203.0.113.2', '203.0.113.3']
const SOUTH = ['203.0.113.9']
const LASTS_MS = 3_600_000
const RUNS = 25

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
beforeEach(async () => {
  await database.db.execute(sql`truncate public_ip`)
  await makeIps().seed()
})
afterAll(() => database.drop())

/** One gateway's view: there is nothing in it but the way to the database. */
function makeIps(north = NORTH): PublicIps {
  const region = (code: string, addresses: string[]) => ({
    code,
    name: code,
    enabled: true,
    engines: [],
    public_ips: addresses.map(address => ({ address, listen: address })),
    traffic_micro_per_gb: 0n,
  })
  const { prices } = shippedCatalogue()
  const catalogue = { regions: [region('north', north), region('south', SOUTH)], prices }
  return createPublicIps({ db: database.db, clock: systemClock, ids: systemIds, catalogue })
}

function take(instanceId: string, regionCode = 'north') {
  return database.db.transaction(async tx => {
    // As whoever asks holds the lock of the instance's own row.
    await lockForUser(tx, 'instance', instanceId)
    return makeIps().take(tx, { regionCode, instanceId, userId: randomUUID(), microPerHour: 5_000n })
  })
}

function giveBack(instanceId: string) {
  return database.db.transaction(async tx => {
    await lockForUser(tx, 'instance', instanceId)
    return makeIps().giveBack(tx, instanceId)
  })
}

const wish = fc.record({ instance: fc.nat({ max: 5 }), region: fc.constantFrom('north', 'south', null) })
const round = fc.record({
  wishes: fc.uniqueArray(wish, { selector: ({ instance }) => instance, maxLength: 6 }),
  seeds: fc.nat({ max: 2 }),
  serves: fc.nat({ max: 2 }),
})

test('[R2.25] [B14] whatever gateways take, give back, seed and serve at once, an address is one instance’s and is sold out only when none is free', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(round, { maxLength: 8 }), async rounds => {
      await database.db.execute(sql`truncate public_ip`)
      await makeIps().seed()
      await makeIps().serve('one', [...NORTH, ...SOUTH], LASTS_MS)
      const holders = new Map<string, string>()
      for (const { wishes, seeds, serves } of rounds) {
        const before = new Map(holders)
        const acting = wishes.map(async ({ instance, region }) => {
          const id = `i-${instance}`
          if (region === null) {
            const gone = await giveBack(id)
            expect(gone?.address).toBe(before.get(id))
            holders.delete(id)
            return null
          }
          try {
            const { address } = await take(id, region)
            expect(region === 'north' ? NORTH : SOUTH).toContain(address)
            expect(before.has(id)).toBe(false)
            holders.set(id, address)
            return null
          } catch (error) {
            if (!(error instanceof ApiError)) throw error
            expect(error.code).toBe(before.has(id) ? 'public_ip_bound' : 'public_ip_sold_out')
            return region
          }
        })
        const others = [
          ...Array.from({ length: seeds }, () => makeIps().seed()),
          ...Array.from({ length: serves }, () => makeIps().serve('two', [...NORTH, ...SOUTH], LASTS_MS)),
        ]
        await Promise.all([...acting, ...others])
        expect(new Set(holders.values()).size).toBe(holders.size)
        const bound = await makeIps().boundToAny(database.db, ['i-0', 'i-1', 'i-2', 'i-3', 'i-4', 'i-5'])
        expect(new Map([...bound].map(([id, { address }]) => [id, address]))).toEqual(holders)
        const inNorth = [...holders.values()].filter(address => NORTH.includes(address)).length
        expect(await makeIps().level(database.db, 'north')).toEqual({ total: 3, available: 3 - inNorth })
      }
    }),
    { numRuns: RUNS },
  )
})

test('[R2.25] an address that no gateway has is given to nobody', async () => {
  expect(await makeIps().level(database.db, 'north')).toEqual({ total: 0, available: 0 })
  await expect(take('i-1')).rejects.toMatchObject({ code: 'public_ip_sold_out' })
  const [first = ''] = NORTH
  await makeIps().serve('one', [first], LASTS_MS)
  expect(await makeIps().level(database.db, 'north')).toEqual({ total: 1, available: 1 })
  expect((await take('i-1')).address).toBe(first)
  // It stays with whoever has it when the gateway goes.
  await makeIps().forget('one')
  expect((await makeIps().boundTo(database.db, 'i-1'))?.address).toBe(first)
  expect(await makeIps().level(database.db, 'north')).toEqual({ total: 0, available: 0 })
})

test('[R2.25] the address that was given back last is given to others last', async () => {
  await makeIps().serve('one', NORTH, LASTS_MS)
  const first = await take('i-1')
  await giveBack('i-1')
  const [second, third] = [await take('i-2'), await take('i-3')]
  expect([second.address, third.address]).not.toContain(first.address)
  const again = await take('i-4')
  expect(again.address).toBe(first.address)
  // Whoever had it cannot give it back for the next one.
  expect(again.id).not.toBe(first.id)
})

test('[R2.25] of several gateways one listens at an address, until it says so no more', async () => {
  const served = async (gateway: string, lasts = LASTS_MS) =>
    (await makeIps().serve(gateway, NORTH, lasts)).map(({ address }) => address).sort()
  expect(await served('one')).toEqual(NORTH)
  expect(await served('two')).toEqual([])
  expect(await makeIps().unserved()).toEqual(SOUTH.map(address => ({ address, listen: address })))
  // Its time is over at once.
  expect(await served('one', 0)).toEqual(NORTH)
  expect(await served('two')).toEqual(NORTH)
  expect(await served('one')).toEqual([])
  expect(await makeIps().listenerAt(NORTH[0] ?? '')).toEqual({ gatewayId: 'two', troubles: {} })
})

test('what the catalogue has no more stays with whoever has it, and goes to nobody then', async () => {
  await makeIps().serve('one', NORTH, LASTS_MS)
  const { address } = await take('i-1')
  await makeIps(NORTH.filter(one => one !== address)).seed()
  expect(await makeIps().level(database.db, 'north')).toEqual({ total: 2, available: 2 })
  expect((await makeIps().boundTo(database.db, 'i-1'))?.address).toBe(address)
  await giveBack('i-1')
  const others = [await take('i-2'), await take('i-3')].map(one => one.address)
  expect(others).not.toContain(address)
  await expect(take('i-4')).rejects.toMatchObject({ code: 'public_ip_sold_out' })
})
