import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { topup } from '@berth/contract/billing'
import type { ChargeCycle } from '@berth/contract/charge-terms'
import { customImages } from '@berth/contract/images'
import { type Instance, listInstanceEvents, listInstances } from '@berth/contract/instances'
import { deleteImage } from '@berth/contract/own-images'
import { getPublicIpPrice } from '@berth/contract/public-ip-calls'
import { afterAll, beforeAll, describe, expect, onTestFailed, test } from 'vitest'
import { triesOf } from '../long-runs.ts'
import { createTestDatabase, type TestDatabase } from '../test-database.ts'
import { readBooksAt, readKept, readMachineStretches } from './books-fixture.ts'
import { chargeProblems } from './charge-fixture.ts'
import { signUp, topupInput } from './customer-fixture.ts'
import {
  type Action,
  act,
  actionsOf,
  type EngineLife,
  isAtRest,
  type LifeWorld,
  newLife,
  ON_PAPER,
  PORT,
  prepare,
  REACHED,
} from './engine-life-fixture.ts'
import { createGatewayHome, type GatewayHome, type GatewayRun } from './gateway-home-fixture.ts'
import { startKilledDocker } from './killed-docker-fixture.ts'
import { type KilledEngine, type Place, writeCatalogue } from './killed-engine-fixture.ts'
import { startKilledSandboxes, startKilledVms } from './killed-sandboxes-fixture.ts'
import { keptOf, stateProblems, termProblems } from './paid-fixture.ts'
import { createRandom } from './random-fixture.ts'

/** A life is every action once. */
const LIVES = triesOf('engines')
const VICTIMS = ['gateway', 'helper', 'machine'] as const
type Victim = (typeof VICTIMS)[number]
const CENTS = 1_000_000
const TEST_MS = 180_000 + LIVES * 180_000
const PATIENCE = { timeout: 90_000, interval: 100 }

const found = await Promise.all([startKilledDocker(), startKilledSandboxes(), startKilledVms()])
const engines = found.flatMap(engine => ('why' in engine ? [] : [engine]))
for (const engine of found) {
  if ('why' in engine) process.stdout.write(`SKIP a gateway with engines that are killed: ${engine.why}\n`)
}

// Goal: whatever is killed at whatever moment of an action, the gateway and its engines come to agree, money is right, and
// nothing is left. Method: one real gateway with a real engine of each driver, an instance on each, and a seed that chooses
// moments and victims. Each action is carried out on all engines at once, so that one start of the gateway serves all.
describe.skipIf(engines.length === 0)('a gateway with engines that are killed', () => {
  let home: GatewayHome
  let database: TestDatabase
  let places: Map<KilledEngine, Place>

  beforeAll(async () => {
    database = await createTestDatabase()
    const folder = mkdtempSync(join(tmpdir(), 'berth-test-kill-engines-'))
    const catalogue = writeCatalogue(folder, engines)
    places = catalogue.places
    home = await createGatewayHome({
      folder,
      settings: {
        ...Object.assign({}, ...engines.map(({ settings }) => settings)),
        DATABASE_URL: database.url,
        BERTH_CATALOGUE: catalogue.file,
        BERTH_COMPUTE: 'auto',
        BERTH_RATE_LIMIT_PER_MINUTE: '0',
        BERTH_IMAGE_STORE: join(folder, 'store'),
      },
    })
  }, TEST_MS)
  afterAll(async () => {
    await home?.remove()
    await Promise.all(engines.map(engine => engine.remove()))
    await database?.drop()
  }, TEST_MS)

  const names = engines.map(({ name }) => name).join(', ')
  const seed = Number(process.env.BERTH_FAULT_SEED ?? randomInt(2 ** 31))
  test(
    `[B1] [B2] [B3] [B6] [R4.3] [R4.5] [R7.4] gateway, helper or machine (${names}) killed with -9 during each action, all agree again, what ran is charged and nothing is left (seed ${seed})`,
    async () => {
      onTestFailed(() => void process.stderr.write(home.output()))
      const random = createRandom(seed)
      const run = await home.start()
      const customer = await signUp(home.origin)
      await customer.data(topup, topupInput(CENTS))
      const world: World = { random, run, customer, lives: [], bound: [] }
      for (let life = 0; life < LIVES; life += 1) await live(world, life)
      for (const engine of engines) await expect.poll(() => engine.left(), PATIENCE).toEqual([])
      await expect.poll(() => readdirSync(join(home.dataDir, '../store/blobs/sha256')), PATIENCE).toEqual([])
      expect(await world.run.interrupt()).toBe(0)
    },
    TEST_MS,
  )

  interface World extends LifeWorld {
    run: GatewayRun
    lives: EngineLife[]
  }

  /** An instance on each engine, from its deploy to its end: on demand, then in advance, by turns. */
  async function live(world: World, life: number): Promise<void> {
    const cycle: ChargeCycle | null = (life + seed) % 2 === 0 ? null : 'weekly'
    world.lives = engines.map(engine => newLife(engine, placeOf(engine), cycle))
    for (const [at, { action, takesMs }] of actionsOf(cycle).entries()) {
      const victim = victimOf(life, at, action)
      await Promise.all(world.lives.map(one => prepare(world, one, action)))
      if (action === 'bind') await expectAddresses(world)
      const before = world.lives.map(one => ({ ...one }))
      await actAndKill(world, { action, takesMs, victim })
      await expectAgreement(world)
      if (action === 'terminate') for (const one of before) await expectNoMoreCharge(one)
      if (action === 'image') await expectImages(world, { areMade: victim === null || victim === 'gateway' })
    }
  }

  /**
   * Each action meets all of them in six lives, three of each kind, and a life some of each. In a single life a third of
   * what changes rows alone meets one; null: nothing is killed.
   */
  function victimOf(life: number, at: number, action: Action): Victim | null {
    const turn = Math.floor(life / 2) + at + seed
    if (LIVES === 1 && ON_PAPER.includes(action) && turn % VICTIMS.length > 0) return null
    const victim = LIVES === 1 && ON_PAPER.includes(action) ? Math.floor(turn / VICTIMS.length) : turn
    return VICTIMS[victim % VICTIMS.length] ?? null
  }

  function placeOf(engine: KilledEngine): Place {
    const place = places.get(engine)
    if (!place) throw new Error(`the catalogue has no ${engine.name}`)
    return place
  }

  /** Carries an action out on all engines, and kills at a moment of it: the gateway once, or each engine's own. */
  async function actAndKill(
    world: World,
    { action, takesMs, victim }: { action: Action; takesMs: number; victim: Victim | null },
  ): Promise<void> {
    const { lives, random } = world
    const acting = Promise.all(lives.map(life => act(world, life, action)))
    if (victim === 'gateway') {
      await moment(random.below(takesMs))
      await world.run.kill()
      world.run = await home.start()
    } else if (victim !== null) {
      const moments = lives.map(() => random.below(takesMs))
      await Promise.all(
        lives.map(async ({ engine }, at) => {
          await moment(moments[at] ?? 0)
          await engine.kill(victim)
        }),
      )
    }
    await acting
  }

  /**
   * Every instance has come to rest, its machine is as the list says, no other machine is there, it is reached where it is
   * to be and nowhere else, and the money is right.
   */
  async function expectAgreement(world: World): Promise<void> {
    const { customer, lives, bound } = world
    const ids = lives.flatMap(({ id }) => id ?? []).sort()
    let listed: Instance[] = []
    await expect
      .poll(async () => {
        listed = await customer.data(listInstances, {})
        const said = listed.filter(({ status }) => status === 'running').map(one => one.instance_id)
        const running = await Promise.all(lives.map(({ engine }) => engine.running()))
        const strays = await Promise.all(lives.map(({ engine }) => engine.strays(ids)))
        return {
          unsettled: listed.filter(one => !isAtRest(one)).map(({ status, reason }) => ({ status, reason })),
          listed: listed.map(one => one.instance_id).sort(),
          // None of which the list does not say it, and none twice.
          notAsSaid: JSON.stringify(running.flat().sort()) === JSON.stringify(said.sort()) ? [] : running,
          strays: strays.flat(),
        }
      }, PATIENCE)
      .toEqual({ unsettled: [], listed: ids, notAsSaid: [], strays: [] })
    for (const life of lives) {
      const one = listed.find(({ instance_id }) => instance_id === life.id)
      if (one) await expectCharge(customer, life, one)
    }
    expect(await readKept(database.url, customer.userId)).toEqual(keptOf(lives, listed, bound))
    await expectBooks(customer)
    await expectReached(world)
  }

  /** What is charged for is what the instance went through and its customer bought, and goes on exactly while it runs. */
  async function expectCharge(
    customer: World['customer'],
    life: EngineLife,
    listed: Instance,
  ): Promise<void> {
    const { engine, bought, cycle, wasDeployedInAdvance } = life
    const { instance_id: id, status } = listed
    const events = await customer.data(listInstanceEvents, { params: { id } })
    const stretches = await readMachineStretches(database.url, id)
    const said = `${engine.name} ${stringify({ stretches, events })}`
    expect(chargeProblems(stretches, events, engine), said).toEqual([])
    // The term of a deploy is taken when the machine is ready for the first time.
    const isBegun = wasDeployedInAdvance && events.some(({ code }) => code === 'ready')
    expect(termProblems(stretches, bought + Number(isBegun)), said).toEqual([])
    expect(stateProblems(life, listed, stretches), said).toEqual([])
    const open = stretches.filter(({ endedAt }) => endedAt === null)
    expect(open, said).toHaveLength(status === 'running' && cycle === null ? 1 : 0)
  }

  /** Of what is gone nothing is charged any more, and what is left of its terms was given back. */
  async function expectNoMoreCharge({ id, bought, wasDeployedInAdvance }: EngineLife): Promise<void> {
    const stretches = await readMachineStretches(database.url, id ?? '')
    const now = Date.now()
    for (const { startedAt, endedAt } of stretches) {
      // A term that had not begun has no length, and begins and ends where it would have begun.
      if (endedAt !== startedAt) expect(endedAt ?? Number.POSITIVE_INFINITY).toBeLessThanOrEqual(now)
    }
    expect(termProblems(stretches, bought + Number(wasDeployedInAdvance)), stringify(stretches)).toEqual([])
  }

  async function expectBooks(customer: World['customer']): Promise<void> {
    await expect
      .poll(async () => {
        const before = await readBooksAt(database.url, customer.userId)
        const cents = await customer.balanceCents()
        const { expectedCents, problems, strayCharges } = await readBooksAt(database.url, customer.userId)
        // Usage falls due between two looks: what counts is where both gave the same.
        const isSame = before.expectedCents === expectedCents
        return { problems, strayCharges, differs: isSame ? cents - expectedCents : null }
      }, PATIENCE)
      .toEqual({ problems: [], strayCharges: 0, differs: 0 })
  }

  /** A gateway that was killed is waited for at its addresses: until another one listens there, nobody gets any. */
  async function expectAddresses({ customer, lives }: World): Promise<void> {
    for (const { place } of lives) {
      const query = { region_code: place.regionCode }
      await expect
        .poll(async () => (await customer.data(getPublicIpPrice, { query })).available, PATIENCE)
        .toBe(1)
    }
  }

  /** What runs answers at the address that it has for itself; nobody listens at one that is free, or whose machine is off. */
  async function expectReached({ customer, lives }: World): Promise<void> {
    for (const { id, address, place, engine } of lives) {
      const look = async () => ({
        status: id === null ? null : (await customer.find(id))?.status,
        said: await saidAt(address?.address ?? place.address, engine.kind),
        at: engine.name,
      })
      const isRight = ({ status, said }: Awaited<ReturnType<typeof look>>) =>
        said === (address && status === 'running' ? SAID[engine.kind] : null)
      await expect.poll(look, PATIENCE).toSatisfy(isRight)
    }
  }

  /** Each image is made, or has failed with its reason: where only the gateway died, it is made. Then they are deleted. */
  async function expectImages({ customer }: World, { areMade }: { areMade: boolean }): Promise<void> {
    const images = () => customer.data(customImages, {})
    const final = areMade ? ['private'] : ['private', 'failed']
    await expect
      .poll(async () => (await images()).filter(({ status }) => !final.includes(status)), PATIENCE)
      .toEqual([])
    for (const { id, status, reason } of await images()) {
      expect(status === 'failed' && !reason, id).toBe(false)
      await customer.untilFinal(deleteImage, { params: { id } })
    }
    await expect.poll(images, PATIENCE).toEqual([])
  }
})

/** What whoever comes to a machine hears. In the guest of the virtual machine nothing listens, nor is that waited for. */
const SAID = { POD: REACHED, VM: '' }

/** What a port of an address says to whoever comes; null where nobody listens. */
async function saidAt(host: string, kind: keyof typeof SAID): Promise<string | null> {
  const socket = connect({ host, port: PORT })
  try {
    await once(socket, 'connect')
  } catch {
    return null
  }
  if (kind === 'VM') {
    socket.destroy()
    return ''
  }
  // What cannot be led on is broken off.
  return text(socket).catch(() => '')
}

const stringify = (value: unknown) =>
  JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? String(one) : one), 1)

/** The moment of a kill: the one thing here that is left to the clock. */
function moment(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}
