import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { topup } from '@berth/contract/billing'
import type { InstanceEventCode } from '@berth/contract/instance-codes'
import { getInstanceMetrics } from '@berth/contract/instance-metrics'
import {
  deployInstance,
  editInstance,
  type Instance,
  listInstanceEvents,
  listInstances,
} from '@berth/contract/instances'
import { IDLE_STOP_MINUTES_MIN } from '@berth/contract/limits'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, onTestFailed, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { describeWhere } from '../../src/drivers/compute/conformance/tools.ts'
import { probeSandbox } from '../../src/drivers/compute/sandbox/probe-sandbox.ts'
import { createTestDatabase, type TestDatabase } from '../test-database.ts'
import { readBooksAt, readMachineStretches } from './books-fixture.ts'
import { chargeProblems } from './charge-fixture.ts'
import { type Customer, deployInput, signUp, topupInput } from './customer-fixture.ts'
import { createGatewayHome, type GatewayHome, type GatewayRun } from './gateway-home-fixture.ts'
import { endProcesses, machinesOf, processesOf } from './processes-fixture.ts'

const CATALOGUE = resolve(import.meta.dirname, '../../../../config/catalogue.yaml')
/** A cent a second, so that a limit of some cents is used up while a test waits. */
const PRICE_PER_HOUR = '36.00'
const CENTS = 1_000_000
/** How far ahead rules are that a gateway does not live to see. */
const AHEAD_MS = 8_000
const AHEAD_CENTS = 8
const TEST_MS = 240_000
const PATIENCE = { timeout: 90_000, interval: 50 }
const MICRO_PER_CENT = 10_000n

// Goal: what stops an instance by itself holds although the gateway that looks after it is killed before it is due, and holds
// once where several could do it. Method: two gateways on one database and one sandbox host; the first has its engine.
describeWhere(
  'instances of a gateway that is killed before they are due to stop',
  await probeSandbox(),
  () => {
    let database: TestDatabase
    let homes: GatewayHome[]
    let first: GatewayRun
    const folder = mkdtempSync(join(tmpdir(), 'berth-test-stop-rules-'))
    const machines = join(folder, 'data')

    beforeAll(async () => {
      database = await createTestDatabase()
      const settings = {
        DATABASE_URL: database.url,
        BERTH_MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
        BERTH_CATALOGUE: writeCatalogue(),
        BERTH_COMPUTE: 'auto',
        BERTH_RATE_LIMIT_PER_MINUTE: '0',
      }
      homes = await Promise.all([1, 2].map(() => createGatewayHome({ folder, settings })))
      const [one, two] = homes
      if (!one || !two) throw new Error('no homes')
      first = await one.start()
      // It has the engine by now, and keeps it.
      await two.start()
    }, TEST_MS)
    afterAll(async () => {
      for (const home of homes ?? []) await home.remove()
      await endProcesses(() => processesOf(machines))
      await database?.drop()
    }, TEST_MS)

    function writeCatalogue(): string {
      const catalogue = parse(readFileSync(CATALOGUE, 'utf8')) as {
        regions: { engines?: object[] }[]
        gpu_specs: { id: string; price_per_hour: string }[]
      }
      for (const region of catalogue.regions) {
        region.engines = [{ driver: 'sandbox', dir: join(machines, 'host') }]
      }
      for (const spec of catalogue.gpu_specs) if (spec.id === 'cpu') spec.price_per_hour = PRICE_PER_HOUR
      const file = join(folder, 'catalogue.yaml')
      writeFileSync(file, stringify(catalogue))
      return file
    }

    async function payer(): Promise<Customer> {
      const customer = await signUp(homes[0]?.origin ?? '')
      await customer.data(topup, topupInput(CENTS))
      return customer
    }

    async function running(customer: Customer, rules: Partial<Instance>): Promise<string> {
      const { body } = deployInput('ruled')
      const { instance_id } = await customer.data(deployInstance, { body: { ...body, ...rules } })
      await customer.untilRunning(instance_id)
      return instance_id
    }

    const statuses = async (who: Customer, ids: string[]) => {
      const all = await who.data(listInstances, {})
      return ids.map(id => {
        const found = all.find(({ instance_id }) => instance_id === id)
        return found && [found.status, found.reason?.code]
      })
    }

    /** It was stopped by its rule once, nothing of it runs, and it is charged to its end. */
    async function expectStoppedOnce(who: Customer, id: string, code: InstanceEventCode): Promise<void> {
      const events = await who.data(listInstanceEvents, { params: { id } })
      expect(events.filter(one => one.code === code)).toHaveLength(1)
      expect(events.filter(one => one.code === 'stopped')).toHaveLength(1)
      const stretches = await readMachineStretches(database.url, id)
      expect(stretches).toHaveLength(1)
      expect(chargeProblems(stretches, events, { waits: true })).toEqual([])
      expect(machinesOf(machines)).not.toContain(id)
    }

    async function expectBooks(who: Customer): Promise<void> {
      await expect
        .poll(async () => {
          const before = await readBooksAt(database.url, who.userId)
          const cents = await who.balanceCents()
          const { expectedCents, problems } = await readBooksAt(database.url, who.userId)
          return { problems, differs: before.expectedCents === expectedCents ? cents - expectedCents : null }
        }, PATIENCE)
        .toEqual({ problems: [], differs: 0 })
    }

    test(
      '[B5] [B14] [B2] a spend limit that two gateways could enforce stops its instance once, and no later than it is used up',
      async () => {
        onTestFailed(() => void process.stderr.write(homes.map(home => home.output()).join('\n')))
        const customer = await payer()
        const id = await running(customer, { spend_limit_cents: 2 })
        await expect
          .poll(() => statuses(customer, [id]), PATIENCE)
          .toEqual([['stopped', 'spend_limit_reached']])
        await expectStoppedOnce(customer, id, 'stopped_at_limit')
        const cost = BigInt((await customer.find(id))?.cost_micro ?? 0)
        expect(cost).toBeGreaterThanOrEqual(2n * MICRO_PER_CENT)
        await expectBooks(customer)
      },
      TEST_MS,
    )

    test(
      '[B5] [B1] [B2] killed with -9 before stop-at, spend limit and idle-stop are due, it is followed by another gateway that stops each once',
      async () => {
        onTestFailed(() => void process.stderr.write(homes.map(home => home.output()).join('\n')))
        const [, other] = homes
        if (!other) throw new Error('no homes')
        const customer = await payer()
        const [atMoment, atLimit, whenIdle] = await Promise.all([
          running(customer, {}),
          running(customer, {}),
          running(customer, { idle_stop_minutes: IDLE_STOP_MINUTES_MIN }),
        ])
        const ids = [atMoment, atLimit, whenIdle]
        await untilQuiet(customer, whenIdle)
        const found = await customer.find(atLimit)
        const spentCents = Number(BigInt(found?.cost_micro ?? 0) / MICRO_PER_CENT)
        const edit = (instance_id: string, rule: object) =>
          customer.data(editInstance, { body: { instance_id, ...rule } })
        await edit(atMoment, { stop_at: new Date(Date.now() + AHEAD_MS).toISOString() })
        await edit(atLimit, { spend_limit_cents: spentCents + 1 + AHEAD_CENTS })
        await hasBeenIdleFor(whenIdle, IDLE_STOP_MINUTES_MIN * 60_000 - AHEAD_MS)
        expect(await statuses(customer, ids)).toEqual(ids.map(() => ['running', undefined]))
        await first.kill()

        const after = customer.at(other.origin)
        await expect
          .poll(() => statuses(after, ids), PATIENCE)
          .toEqual([
            ['stopped', 'stop_time_reached'],
            ['stopped', 'spend_limit_reached'],
            ['stopped', 'idle'],
          ])
        await expectStoppedOnce(after, atMoment, 'stopped_at_time')
        await expectStoppedOnce(after, atLimit, 'stopped_at_limit')
        await expectStoppedOnce(after, whenIdle, 'stopped_when_idle')
        await expectBooks(after)
      },
      TEST_MS,
    )

    /** Until its gateway has seen that nothing goes on in it; somebody who looks has that come sooner. */
    async function untilQuiet(customer: Customer, id: string): Promise<void> {
      await expect
        .poll(async () => {
          await customer.data(getInstanceMetrics, { params: { id }, query: { range_seconds: 60 } })
          const { rows } = await database.db.execute(
            sql`select from instance_use where instance_id = ${id} and quiet_since is not null`,
          )
          return rows.length
        }, PATIENCE)
        .toBe(1)
    }

    /** Five minutes are the shortest that may be asked for: what was seen so far is put back by most of them. */
    async function hasBeenIdleFor(id: string, ms: number): Promise<void> {
      const since = sql`now() - make_interval(secs => ${ms / 1_000})`
      await database.db.execute(sql`update instance set ready_at = ${since} where id = ${id}`)
      await database.db.execute(
        sql`update instance_use set quiet_since = ${since}, used_at = null where instance_id = ${id}`,
      )
    }
  },
)
