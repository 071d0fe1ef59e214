import { execFile } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { topup } from '@berth/contract/billing'
import {
  deployInstance,
  editInstance,
  listInstances,
  restartInstance,
  startInstance,
  stopInstance,
  terminateInstance,
} from '@berth/contract/instances'
import { afterAll, beforeAll, describe, expect, onTestFailed, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { CLOUD_LABEL, INSTANCE_LABEL } from '../../src/drivers/compute/docker/container-plan.ts'
import { startDockerd, type TestDaemon } from '../../src/drivers/compute/docker/dockerd-fixture.ts'
import { importTestImage } from '../../src/drivers/compute/docker/test-image.ts'
import { triesOf } from '../long-runs.ts'
import { createTestDatabase, type TestDatabase } from '../test-database.ts'
import { readBooksAt } from './books-fixture.ts'
import { type Customer, deployInput, signUp, topupInput } from './customer-fixture.ts'
import { createGatewayHome, type GatewayHome, type GatewayRun } from './gateway-home-fixture.ts'
import { createRandom, type Random } from './random-fixture.ts'

const KILLS = triesOf('docker')
const CATALOGUE = resolve(import.meta.dirname, '../../../../config/catalogue.yaml')
const VICTIMS = ['gateway', 'engine', 'machine'] as const
/** Making, starting and stopping a container takes about as long. */
const DELAY_MS_MAX = 700
const INSTANCES_MAX = 2
const CENTS = 100_000
const TEST_MS = 120_000 + KILLS * 60_000
const PATIENCE = { timeout: 90_000, interval: 100 }

const run = promisify(execFile)

/** A daemon in a network namespace of its own: its rules and bridges go with that. */
async function prepare(): Promise<{ daemon: TestDaemon; namespace: string } | { why: string }> {
  if (process.getuid?.() !== 0) return { why: 'only root can start a Docker daemon' }
  const namespace = `berth-k-${randomBytes(3).toString('hex')}`
  await run('ip', ['netns', 'add', namespace])
  const daemon = await startDockerd({ network_namespace: namespace })
  if (!('why' in daemon)) return { daemon, namespace }
  await run('ip', ['netns', 'del', namespace])
  return daemon
}

const prepared = await prepare()
const missing = 'why' in prepared ? prepared.why : null
if (missing !== null) process.stdout.write(`SKIP a gateway with a Docker Engine: ${missing}\n`)

// Goal: whatever is killed at whatever moment of an action, the gateway and the engine come to agree, money is right, and
// nothing is left. Method: a real gateway, a real daemon, and a seed that chooses actions, moments and victims.
describe.skipIf(missing !== null)('a gateway with a Docker Engine', () => {
  const { daemon, namespace } = prepared as Extract<typeof prepared, { daemon: TestDaemon }>
  let home: GatewayHome
  let database: TestDatabase

  beforeAll(async () => {
    const image = await importTestImage(daemon.docker)
    database = await createTestDatabase()
    const folder = mkdtempSync(join(tmpdir(), 'berth-test-kill-docker-'))
    home = await createGatewayHome({
      folder,
      settings: {
        DATABASE_URL: database.url,
        BERTH_CATALOGUE: writeCatalogue(folder, daemon, image),
        BERTH_COMPUTE: 'auto',
        BERTH_RATE_LIMIT_PER_MINUTE: '0',
      },
    })
  }, TEST_MS)
  afterAll(async () => {
    await home?.remove()
    // One that was killed left what ran on it: only a daemon ends that.
    await daemon.start().catch(() => undefined)
    await daemon.remove()
    await run('ip', ['netns', 'del', namespace])
    await database?.drop()
  }, TEST_MS)

  const seed = Number(process.env.BERTH_FAULT_SEED ?? randomInt(2 ** 31))
  test(
    `[B1] [B2] [B3] gateway, engine or machine killed with -9 ${KILLS} times during any action, all agree again and nothing is left (seed ${seed})`,
    async () => {
      onTestFailed(() => void process.stderr.write(home.output()))
      const random = createRandom(seed)
      const life: Life = { random, run: await home.start(), customer: await signUp(home.origin), ids: [] }
      await life.customer.data(topup, topupInput(CENTS))
      for (let kills = 0; kills < KILLS; kills += 1) {
        const acting = act(life)
        await moment(random.below(DELAY_MS_MAX))
        // Each is hit in turn, so that few tries meet all of them.
        const victim = VICTIMS[(kills + seed) % VICTIMS.length] ?? 'gateway'
        await killAndStart(victim, life)
        await acting
        await expectAgreement(life)
      }
      for (const id of life.ids) await life.customer.untilFinal(terminateInstance, { params: { id } })
      life.ids = []
      await expectAgreement(life)
      await expectNothingLeft()
      expect(await life.run.interrupt()).toBe(0)
    },
    TEST_MS,
  )

  interface Life {
    random: Random
    run: GatewayRun
    customer: Customer
    /** Instances that are not to be removed. */
    ids: string[]
  }

  /** One thing that a customer does, until it is answered. */
  async function act(life: Life): Promise<void> {
    const { customer, random, ids } = life
    const id = ids[random.below(ids.length)]
    const instance = id === undefined ? undefined : await customer.find(id)
    if (id === undefined || !instance || (ids.length < INSTANCES_MAX && random.next() < 0.5)) {
      const { instance_id } = await customer.data(deployInstance, deployInput('killed'))
      ids.push(instance_id)
      return
    }
    if (instance.status !== 'running') {
      const body = { instance_id: id, gpu_count: 1, gpu_spec_id: 'cpu' }
      await customer.untilFinal(startInstance, { body })
      return
    }
    const params = { id }
    const chosen = random.below(4)
    if (chosen === 0) {
      life.ids = ids.filter(other => other !== id)
      await customer.untilFinal(terminateInstance, { params })
    } else if (chosen === 1) await customer.untilFinal(stopInstance, { params })
    else {
      // Another name is another container at the next start.
      const name = `renamed-${random.below(1_000)}`
      if (chosen === 2) await customer.untilFinal(editInstance, { body: { instance_id: id, name } })
      await customer.untilFinal(restartInstance, { params })
    }
  }

  async function killAndStart(victim: (typeof VICTIMS)[number], life: Life): Promise<void> {
    if (victim === 'gateway') {
      await life.run.kill()
      life.run = await home.start()
    } else if (victim === 'engine') {
      await daemon.kill()
      await daemon.start()
    } else {
      for (const { Id } of await machines()) {
        const { State } = await daemon.docker.getContainer(Id).inspect()
        if (State.Pid > 0) process.kill(State.Pid, 'SIGKILL')
      }
    }
  }

  const machines = () => daemon.docker.listContainers({ all: true, filters: { label: [INSTANCE_LABEL] } })

  /** Every instance has come to rest, its machine is as the list says, no other machine is there, and the books are right. */
  async function expectAgreement({ customer, ids }: Life): Promise<void> {
    await expect
      .poll(async () => {
        const listed = await customer.data(listInstances, {})
        const found = await machines()
        const running = found
          .filter(({ State }) => State === 'running')
          .map(({ Labels }) => Labels[INSTANCE_LABEL])
        return {
          moving: listed.filter(({ status }) => !['running', 'stopped', 'exited', 'error'].includes(status)),
          failedWithoutCause: listed.filter(({ status, reason }) => status === 'error' && !reason),
          listed: listed.map(({ instance_id }) => instance_id).sort(),
          running: running.sort(),
          strays: found.filter(({ Names, Labels }) => {
            const id = Labels[INSTANCE_LABEL]
            return !ids.includes(id ?? '') || Names.some(name => name.endsWith('.before'))
          }),
          said: listed
            .filter(({ status }) => status === 'running')
            .map(({ instance_id }) => instance_id)
            .sort(),
        }
      }, PATIENCE)
      .toSatisfy(
        state =>
          state.moving.length === 0 &&
          state.failedWithoutCause.length === 0 &&
          state.strays.length === 0 &&
          JSON.stringify(state.listed) === JSON.stringify([...ids].sort()) &&
          JSON.stringify(state.running) === JSON.stringify(state.said),
      )
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

  /** Of machines, what was saved of them, and what they stored. */
  async function expectNothingLeft(): Promise<void> {
    await expect.poll(machines, PATIENCE).toEqual([])
    const filters = { label: [INSTANCE_LABEL] }
    await expect.poll(() => daemon.docker.listImages({ all: true, filters }), PATIENCE).toEqual([])
    expect((await daemon.docker.listVolumes()).Volumes ?? []).toEqual([])
    // What stays is the guard of the cloud's network.
    const left = await daemon.docker.listContainers({ all: true })
    expect(left.map(({ Names }) => Names[0])).toEqual([expect.stringMatching(/\.guard$/)])
    expect(left.every(({ Labels }) => CLOUD_LABEL in Labels)).toBe(true)
  }
})

/** The catalogue with the test's own engine and image. */
function writeCatalogue(folder: string, daemon: TestDaemon, image: string): string {
  const catalogue = parse(readFileSync(CATALOGUE, 'utf8')) as {
    regions: { code: string; engines?: object[] }[]
    images: { id: string; docker?: string }[]
  }
  for (const region of catalogue.regions)
    region.engines = [{ driver: 'docker', url: `unix://${daemon.socket_path}` }]
  for (const entry of catalogue.images) if (entry.id === 'berth-base') entry.docker = image
  const file = join(folder, 'catalogue.yaml')
  writeFileSync(file, stringify(catalogue))
  return file
}

/** The moment of a kill: the one thing here that is left to the clock. */
function moment(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}
