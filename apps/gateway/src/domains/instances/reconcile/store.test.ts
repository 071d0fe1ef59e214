import { INSTANCES_PER_USER_DEFAULT } from '@berth/contract/limits'
import { eq, inArray, sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createInstancesFixture, type InstancesFixture } from '../instances-fixture.ts'
import { instance } from '../tables.ts'
import { createStore, type Store } from './store.ts'

const OWNERS = 8
const ROUNDS = 12
const LEASE_MS = 10_000

let fixture: InstancesFixture
let stores: Store[]
let ids: string[]
beforeAll(async () => {
  fixture = await createInstancesFixture()
  const { db, billing } = fixture
  stores = Array.from({ length: OWNERS }, (_, index) =>
    createStore({
      db,
      billing,
      owner: `owner-${index}`,
      servedElsewhere: () => [],
    }),
  )
  const userId = await fixture.payer()
  ids = []
  // One after the other: each waits for the customer's wallet, and the last of many at once for longer than a statement may.
  while (ids.length < INSTANCES_PER_USER_DEFAULT) ids.push(await fixture.deploy(userId))
})
afterAll(() => fixture.close())

test('each due row goes to exactly one of those who claim at the same time', async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const claimed = await Promise.all(stores.map(store => claim(store)))
    expect(
      claimed
        .flat()
        .map(({ id }) => id)
        .sort(),
    ).toEqual([...ids].sort())
    await Promise.all(stores.map(store => store.releaseAll()))
  }
})

test('the first row that is due is known, and when one is free again that somebody else works on', async () => {
  const [one, other] = stores
  if (!one || !other) throw new Error('two stores are needed')
  const now = fixture.clock.now()
  const [early = '', late = '', ...rest] = ids
  const { db } = fixture
  const inMs = (ms: number) => new Date(now.getTime() + ms)
  await db.update(instance).set({ nextAttemptAt: inMs(60_000) })
  await db
    .update(instance)
    .set({ nextAttemptAt: inMs(20_000) })
    .where(eq(instance.id, late))
  await db
    .update(instance)
    .set({ nextAttemptAt: inMs(-5) })
    .where(eq(instance.id, early))
  expect(await one.dueAt(now, [])).toEqual(inMs(-5))
  expect(await one.dueAt(now, [early])).toEqual(inMs(20_000))
  expect(await one.dueAt(now, ids)).toBeNull()
  expect(await claim(other, { only: [early] })).toHaveLength(1)
  expect(await one.dueAt(now, [])).toEqual(inMs(LEASE_MS))
  expect(await other.dueAt(now, [])).toEqual(inMs(-5))
  expect(await one.dueAt(inMs(LEASE_MS), [])).toEqual(inMs(-5))
  await other.releaseAll()
  await db
    .update(instance)
    .set({ nextAttemptAt: now })
    .where(inArray(instance.id, [early, late, ...rest]))
})

test('a write by one whose lease was taken over, or on an older version, changes nothing', async () => {
  const [first, second] = stores
  if (!first || !second) throw new Error('two stores are needed')
  const only = ids.slice(0, 1)
  const [row] = await claim(first, { only })
  if (!row) throw new Error('the row was not claimed')
  expect(await claim(second, { only })).toEqual([])
  fixture.clock.advance(LEASE_MS / 1_000)
  expect(await claim(second, { only })).toHaveLength(1)
  const failure = { code: 'failed', detail: '', retryAt: fixture.clock.now() } as const
  expect(await first.note(row, { attempts: 7 })).toBeNull()
  expect(await first.noteFailure(row, failure)).toBeNull()
  expect(await first.rest(row, fixture.clock.now())).toBe(false)
  expect(await first.reread(row.id)).toBeNull()
  expect(await first.renew([row.id], fixture.clock.now())).toEqual(new Map())
  expect(await first.withLocks(row, async () => 'ran')).toBeNull()
  expect(await second.withLocks(row, async () => 'ran')).toBe('ran')
  expect(await second.withLocks({ ...row, version: row.version - 1 }, async () => 'ran')).toBeNull()
  expect(await second.note({ ...row, version: row.version - 1 }, { attempts: 7 })).toBeNull()
  await second.releaseAll()
})

test('leases are renewed and given back in the order of ids, so that no two wait in a circle', async () => {
  const [store] = stores
  if (!store) throw new Error('a store is needed')
  const inOrder = [...ids].sort()
  const leaseUntil = new Date(fixture.clock.now().getTime() + LEASE_MS)
  expect(await claim(store)).toHaveLength(ids.length)
  for (const write of [() => store.renew(ids, leaseUntil), () => store.releaseAll()]) {
    const writing = await fixture.db.transaction(async tx => {
      await tx
        .select()
        .from(instance)
        .where(eq(instance.id, inOrder[0] ?? ''))
        .for('update')
      const blocked = write()
      await expect.poll(waitingForLocks).toBe(1)
      // It waits for the first row, and so has taken none of the others.
      const free = await tx.select({ id: instance.id }).from(instance).for('update', { skipLocked: true })
      expect(free.map(({ id }) => id).sort()).toEqual(inOrder)
      return { blocked }
    })
    await writing.blocked
  }
})

test('a row that is not due is claimed only by one who asks for it early', async () => {
  const [store] = stores
  if (!store) throw new Error('a store is needed')
  const only = ids.slice(0, 1)
  const [row] = await claim(store, { only })
  if (!row) throw new Error('the row was not claimed')
  expect(await store.rest(row, new Date(fixture.clock.now().getTime() + 1))).toBe(true)
  expect(await claim(store, { only })).toEqual([])
  expect(await claim(store, { only, early: true })).toHaveLength(1)
})

async function claim(store: Store, { only, early = false }: { only?: string[]; early?: boolean } = {}) {
  const now = fixture.clock.now()
  const leaseUntil = new Date(now.getTime() + LEASE_MS)
  const passOver = { userIds: [], engineIds: [], pullsOf: [] }
  const found = await store.find({ limit: ids.length, now, not: [], passOver })
  return store.claim({ ids: only ?? found.map(({ id }) => id), now, leaseUntil, early })
}

async function waitingForLocks(): Promise<number> {
  const { rows } = await fixture.db.execute<{ waiting: number }>(sql`
    select count(*)::int as waiting from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`)
  return rows[0]?.waiting ?? 0
}
