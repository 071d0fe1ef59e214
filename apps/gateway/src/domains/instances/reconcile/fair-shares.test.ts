import { sql } from 'drizzle-orm'
import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { createFakeEngine } from '../../../drivers/compute/fake/fake-engine.ts'
import { createInstancesFixture, type InstancesFixture } from '../instances-fixture.ts'
import { chooseFairly, passedOver, type Shared, type Shares, takenBy } from './fair-shares.ts'

const SHARES: Shares = { rows: 12, rowsPerEngine: 8, rowsPerCustomer: 4, pulls: 6, pullsPerCustomer: 3 }

const row = fc.record({
  userId: fc.constantFrom('ann', 'bob', 'cy', 'dee', 'eve'),
  engineId: fc.constantFrom(null, 'one', 'two'),
  isPull: fc.boolean(),
})
const rows = (prefix: string) =>
  fc
    .array(row, { maxLength: 60 })
    .map(all => all.map((one, index): Shared => ({ id: `${prefix}${index}`, ...one })))

test('nobody gets more than a share, and whoever has less than one is not passed over for others', () => {
  fc.assert(
    fc.property(rows('found'), found => {
      const chosen = new Set(chooseFairly(found, takenBy([]), SHARES))
      // A row that is to be pulled takes part as any other until its pull begins.
      const begun = found.filter(({ id }) => chosen.has(id)).map(one => ({ ...one, isPull: false }))
      const taken = takenBy(begun)
      expect([...chosen]).toEqual(begun.map(({ id }) => id))
      expect(taken.rows).toBeLessThanOrEqual(SHARES.rows)
      const over = passedOver(taken, SHARES)
      for (const count of taken.ofCustomer.values()) expect(count).toBeLessThanOrEqual(SHARES.rowsPerCustomer)
      for (const count of taken.ofEngine.values()) expect(count).toBeLessThanOrEqual(SHARES.rowsPerEngine)
      for (const { id, userId, engineId } of found) {
        const isOver = over.userIds.includes(userId) || over.engineIds.includes(engineId ?? '')
        if (!chosen.has(id) && !isOver) expect(taken.rows).toBe(SHARES.rows)
      }
    }),
  )
})

test('pulls have shares of their own, and leave those of everything else alone', () => {
  fc.assert(
    fc.property(rows('work'), rows('found'), (works, found) => {
      const pulls = works.filter(({ isPull }) => isPull)
      const taken = takenBy(pulls)
      expect(taken.rows).toBe(0)
      const { pullsOf } = passedOver(taken, SHARES)
      const chosen = chooseFairly(found, taken, SHARES)
      for (const { id, userId } of found.filter(({ isPull }) => isPull)) {
        if (pullsOf === 'all' || pullsOf.includes(userId)) expect(chosen).not.toContain(id)
      }
      const other = found.find(({ isPull }) => !isPull)
      if (other && found[0] === other) expect(chosen).toContain(other.id)
    }),
  )
})

// Goal: what many rows wait for holds nobody else up. Method: one real row, copied as often as it takes, and calls of the
// fake engine that hang.
describe('[B6] one customer with one instance is served beside', () => {
  let fixture: InstancesFixture
  afterEach(() => fixture.close())

  /** Copies an instance, for a customer. @param set Columns that differ, as SQL. */
  async function copies(from: string, userId: string, count: number, set: Record<string, string> = {}) {
    const { rows } = await fixture.db.execute<{ name: string }>(
      sql`select column_name as name from information_schema.columns where table_name = 'instance'`,
    )
    const names = rows.map(({ name }) => name)
    const values: Record<string, string> = {
      id: `'i-' || substr(translate(md5(n::text || '${userId}'), '01', 'xy'), 1, 7)`,
      service_secret: `md5(n::text || '${userId}')`,
      user_id: `'${userId}'`,
      lease_owner: 'null',
      lease_until: 'null',
      ...set,
    }
    const selected = names.map(name => values[name] ?? name).join(', ')
    await fixture.db.execute(
      sql.raw(
        `insert into instance (${names.join(', ')})
          select ${selected} from instance, generate_series(1, ${count}) n where id = '${from}'`,
      ),
    )
  }

  const callsOf = (name: string) => fixture.compute.calls.filter(call => call.startsWith(`${name} `)).length

  async function leased(userId: string): Promise<number> {
    const { rows } = await fixture.db.execute<{ count: number }>(
      sql`select count(*)::int as count from instance where user_id = ${userId} and lease_owner is not null`,
    )
    return rows[0]?.count ?? 0
  }

  test('another one’s 200, whose starts hang', async () => {
    fixture = await createInstancesFixture()
    const [crowd, single] = [await fixture.payer(), await fixture.payer()]
    await fixture.instances.reconciler.start()
    const mine = await fixture.running(single)
    fixture.compute.faults.block('start')
    await copies(await fixture.deploy(crowd), crowd, 200)
    await expect.poll(() => callsOf('start')).toBeGreaterThan(1 + 10)
    // All that were begun hang by then.
    await expect.poll(async () => (await leased(crowd)) - callsOf('start')).toBe(-1)
    expect(await leased(crowd)).toBe(16)
    await fixture.instances.stop({ userId: single, instanceId: mine })
    await fixture.until(mine, 'stopped')
  })

  test('the pulls of ten others, of which each has twenty that hang', async () => {
    fixture = await createInstancesFixture()
    await fixture.instances.reconciler.start()
    const single = await fixture.payer()
    const mine = await fixture.running(single)
    await fixture.instances.reconciler.stop()
    const pull = fixture.compute.faults.block('pull')
    const waiting = await fixture.deploy(await fixture.payer())
    for (let other = 0; other < 10; other += 1) await copies(waiting, await fixture.payer(), 20)
    const before = callsOf('pull')
    const next = await fixture.gateway()
    await next.reconciler.start()
    await pull.reached
    await fixture.instances.stop({ userId: single, instanceId: mine })
    await fixture.until(mine, 'stopped')
    await expect.poll(() => callsOf('pull') - before).toBe(48)
    // Nobody waits for ever: what is over makes room.
    pull.release()
    await expect.poll(() => callsOf('pull') - before, { timeout: 60_000 }).toBe(201)
  })

  test('the machines of an engine that says nothing', async () => {
    const [silent, other] = ['silent', 'other'].map(id =>
      createFakeEngine({ clock: { now: () => new Date() }, id }),
    )
    if (!silent || !other) throw new Error('two engines are needed')
    const source = (engine: typeof silent, regionCode: string) => ({
      description: engine.id,
      regionCodes: [regionCode],
      formerId: () => null,
      open: async () => engine,
    })
    fixture = await createInstancesFixture({
      sources: [source(silent, 'us-west'), source(other, 'eu-frankfurt')],
    })
    await fixture.instances.reconciler.start()
    const single = await fixture.payer()
    const there = await fixture.running(await fixture.payer())
    const mine = await fixture.running(single, { region_code: 'eu-frankfurt' })
    const status = silent.faults.block('status', { deaf: true })
    for (let each = 0; each < 20; each += 1) {
      const now = `'${fixture.clock.now().toISOString()}'`
      await copies(there, await fixture.payer(), 10, { next_attempt_at: now })
    }
    fixture.instances.reconciler.kick(there)
    await status.reached
    await fixture.instances.stop({ userId: single, instanceId: mine })
    await fixture.until(mine, 'stopped')
    status.release()
  })
})
