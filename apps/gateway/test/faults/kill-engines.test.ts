import { randomInt } from 'node:crypto'
import { mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { topup } from '@berth/contract/billing'
import { customImages } from '@berth/contract/images'
import {
  deployInstance,
  editInstance,
  type Instance,
  listInstanceEvents,
  listInstances,
  restartInstance,
  startInstance,
  stopInstance,
  terminateInstance,
} from '@berth/contract/instances'
import { createImage, deleteImage } from '@berth/contract/own-images'
import { afterAll, beforeAll, describe, expect, onTestFailed, test } from 'vitest'
import { imageDetails } from '../../src/domains/images/images-fixture.ts'
import { triesOf } from '../long-runs.ts'
import { createTestDatabase, type TestDatabase } from '../test-database.ts'
import { readBooksAt, readMachineStretches } from './books-fixture.ts'
import { chargeProblems } from './charge-fixture.ts'
import { type Customer, deployInput, signUp, topupInput } from './customer-fixture.ts'
import { createGatewayHome, type GatewayHome, type GatewayRun } from './gateway-home-fixture.ts'
import { startKilledDocker } from './killed-docker-fixture.ts'
import { type KilledEngine, type Place, writeCatalogue } from './killed-engine-fixture.ts'
import { startKilledSandboxes, startKilledVms } from './killed-sandboxes-fixture.ts'
import { createRandom, type Random } from './random-fixture.ts'

/** A life is every action once, with a kill in each. */
const LIVES = triesOf('engines')
/** An instance's whole life, in an order in which each finds what it needs, with about how long each takes. */
const ACTIONS = [
  ['deploy', 900],
  ['stop', 700],
  ['start', 700],
  ['restart', 900],
  ['edit', 900],
  ['image', 1_200],
  ['terminate', 500],
] as const
type Action = (typeof ACTIONS)[number][0]
const VICTIMS = ['gateway', 'helper', 'machine'] as const
const CENTS = 100_000
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
    `[B1] [B2] [B3] [B6] [R4.5] gateway, helper or machine (${names}) killed with -9 during each action, all agree again, what ran is charged and nothing is left (seed ${seed})`,
    async () => {
      onTestFailed(() => void process.stderr.write(home.output()))
      const random = createRandom(seed)
      const run = await home.start()
      const customer = await signUp(home.origin)
      await customer.data(topup, topupInput(CENTS))
      const lives = engines.map(engine => ({ engine, place: placeOf(engine), id: null }))
      const world: World = { random, run, customer, lives }
      for (let life = 0; life < LIVES; life += 1) {
        for (const [at, [action, tookMs]] of ACTIONS.entries()) {
          // Each action meets all of them in three lives, and a life some of each.
          const victim = VICTIMS[(life + at + seed) % VICTIMS.length] ?? 'gateway'
          await Promise.all(lives.map(one => prepare(world, one, action)))
          const before = lives.flatMap(({ id }) => id ?? [])
          await actAndKill(world, { action, tookMs, victim })
          await expectAgreement(world)
          if (action === 'terminate') for (const id of before) await expectNoMoreCharge(id)
          if (action === 'image') await expectImages(world, { areMade: victim === 'gateway' })
        }
      }
      for (const { engine } of lives) await expect.poll(() => engine.left(), PATIENCE).toEqual([])
      await expect.poll(() => readdirSync(join(home.dataDir, '../store/blobs/sha256')), PATIENCE).toEqual([])
      expect(await world.run.interrupt()).toBe(0)
    },
    TEST_MS,
  )

  interface World {
    random: Random
    run: GatewayRun
    customer: Customer
    lives: Life[]
  }

  /** The instance on one engine. */
  interface Life {
    engine: KilledEngine
    place: Place
    id: string | null
  }

  function placeOf(engine: KilledEngine): Place {
    const place = places.get(engine)
    if (!place) throw new Error(`the catalogue has no ${engine.name}`)
    return place
  }

  /** Brings an instance to where an action may be asked for. */
  async function prepare({ customer }: World, { id, engine }: Life, action: Action): Promise<void> {
    if (id === null || action === 'deploy' || action === 'terminate') return
    const wanted = action === 'start' || (action === 'image' && engine.kind === 'VM') ? 'stopped' : 'running'
    const { status } = await rested(customer, id)
    if (status === wanted) return
    if (wanted === 'running') await customer.untilFinal(startInstance, startInput(id))
    else if (status === 'running') await customer.untilFinal(stopInstance, { params: { id } })
    // `exited` and `error` are as good to start from.
    else return
    await expect.poll(async () => (await rested(customer, id)).status, PATIENCE).toBe(wanted)
  }

  /** An instance once nothing is under way. */
  async function rested(customer: Customer, id: string): Promise<Instance> {
    let one: Instance | undefined
    await expect
      .poll(async () => {
        one = await customer.find(id)
        return one && isAtRest(one)
      }, PATIENCE)
      .toBe(true)
    if (!one) throw new Error(`${id} is gone`)
    return one
  }

  const startInput = (id: string) => ({ body: { instance_id: id, gpu_count: 1, gpu_spec_id: 'cpu' } })

  /** One thing that a customer does, until it is answered. */
  async function act({ customer, random }: World, life: Life, action: Action): Promise<void> {
    const { id, place, engine } = life
    if (action === 'deploy') {
      const { body } = deployInput('killed')
      const { regionCode: region_code, imageId: image_id } = place
      const wanted = { ...body, region_code, image_id, kind: engine.kind }
      life.id = (await customer.data(deployInstance, { body: wanted })).instance_id
      return
    }
    if (id === null) throw new Error('nothing was deployed')
    const params = { id }
    if (action === 'terminate') {
      life.id = null
      await customer.data(terminateInstance, { params })
    } else if (action === 'stop') await customer.untilFinal(stopInstance, { params })
    else if (action === 'start') await customer.untilFinal(startInstance, startInput(id))
    else if (action === 'restart') await customer.untilFinal(restartInstance, { params })
    else if (action === 'edit') {
      // Another name is another container at the next start.
      const name = `renamed-${random.below(1_000)}`
      await customer.untilFinal(editInstance, { body: { instance_id: id, name } })
      await customer.untilFinal(restartInstance, { params })
    } else {
      const body = { ...imageDetails, instance_id: id, kind: engine.kind, region_code: place.regionCode }
      await customer.untilFinal(createImage, { body })
    }
  }

  /** Carries an action out on all engines, and kills at a moment of it: the gateway once, or each engine's own. */
  async function actAndKill(
    world: World,
    { action, tookMs, victim }: { action: Action; tookMs: number; victim: (typeof VICTIMS)[number] },
  ): Promise<void> {
    const { lives, random } = world
    const acting = Promise.all(lives.map(life => act(world, life, action)))
    if (victim === 'gateway') {
      await moment(random.below(tookMs))
      await world.run.kill()
      world.run = await home.start()
    } else {
      const moments = lives.map(() => random.below(tookMs))
      await Promise.all(
        lives.map(async ({ engine }, at) => {
          await moment(moments[at] ?? 0)
          await engine.kill(victim)
        }),
      )
    }
    await acting
  }

  /** Every instance has come to rest, its machine is as the list says, no other machine is there, and the money is right. */
  async function expectAgreement({ customer, lives }: World): Promise<void> {
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
    for (const { engine, id } of lives) if (id !== null) await expectCharge(customer, engine, id)
    await expectBooks(customer)
  }

  /** What is charged for is what the instance went through, and goes on exactly while it runs. */
  async function expectCharge(customer: Customer, { name, waits }: KilledEngine, id: string): Promise<void> {
    const events = await customer.data(listInstanceEvents, { params: { id } })
    const stretches = await readMachineStretches(database.url, id)
    const said = `${name} ${JSON.stringify({ stretches, events }, null, 1)}`
    expect(chargeProblems(stretches, events, { waits }), said).toEqual([])
    const open = stretches.filter(({ endedAt }) => endedAt === null)
    const { status } = await rested(customer, id)
    expect(open, said).toHaveLength(status === 'running' ? 1 : 0)
    const now = Date.now()
    for (const { endedAt } of stretches) expect(endedAt ?? now, said).toBeLessThanOrEqual(now)
  }

  /** Of what is gone nothing is charged any more. */
  async function expectNoMoreCharge(id: string): Promise<void> {
    const stretches = await readMachineStretches(database.url, id)
    const now = Date.now()
    for (const { endedAt } of stretches) expect(endedAt ?? Number.POSITIVE_INFINITY).toBeLessThanOrEqual(now)
  }

  async function expectBooks(customer: Customer): Promise<void> {
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

function isAtRest({ status, reason }: Instance): boolean {
  if (status === 'error') return reason !== null
  return status === 'running' || status === 'stopped' || status === 'exited'
}

/** The moment of a kill: the one thing here that is left to the clock. */
function moment(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}
