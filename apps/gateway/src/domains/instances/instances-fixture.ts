import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import type { InstanceStatus } from '@berth/contract/instance-states'
import type { DeployBody } from '@berth/contract/instances'
import { and, asc, eq, isNull } from 'drizzle-orm'
import { expect } from 'vitest'
import { createFakeDriver, type FakeDriver } from '../../drivers/compute/fake/fake-driver.ts'
import type { RealGpu } from '../../drivers/compute/port.ts'
import { loadCatalogue } from '../../platform/config/catalogue.ts'
import { type BillingFixture, createBillingFixture } from '../billing/billing-fixture.ts'
import { usageInterval, walletHold } from '../billing/tables.ts'
import { createImages } from '../images/images.ts'
import { createRegions } from '../regions/regions.ts'
import type { StartWanted } from './actions.ts'
import { createInstances, type Instances, type InstancesDeps } from './instances.ts'
import { RECONCILE_LIMITS, type ReconcileLimits } from './limits.ts'
import { createQuotes } from './quotes.ts'
import type { InstanceRow } from './rows.ts'
import { MEANING } from './status-meaning.ts'
import { instance } from './tables.ts'

const CATALOGUE = resolve(import.meta.dirname, '../../../../../config/catalogue.yaml')

/** Calls that hang are given up within a test's patience; what follows the clock stays as it is. */
const TEST_LIMITS: ReconcileLimits = {
  ...RECONCILE_LIMITS,
  step_ms: { status: 250, boot: 250, probe: 250, stop: 250, remove: 250 },
  pull_stall_ms: 250,
  abort_grace_ms: 20,
}
/** The data folder whose machines the driver holds. */
export const INSTALLATION_ID = '0123456789ab'
const EVENTUALLY_MS = 15_000
const POLL_MS = 15

/** The domain with a fake driver and real money, on a database of its own. */
export interface InstancesFixture extends Omit<BillingFixture, 'driver'> {
  compute: FakeDriver
  instances: Instances
  /** What customers were told of, oldest first. */
  notices: Parameters<InstancesDeps['notices']['instanceTrouble']>[1][]
  /** Another gateway on the same database; its reconciler is not started. */
  gateway(options?: GatewayOptions): Instances
  /** A customer with 100.00, or with credits of that many cents. */
  payer(creditCents?: number): Promise<string>
  /** Deploys; a CPU machine in us-west unless told otherwise. */
  deploy(userId: string, body?: Partial<DeployBody>, key?: string): Promise<string>
  /** Deploys and waits until it runs. */
  running(userId: string, body?: Partial<DeployBody>): Promise<string>
  row(id: string): Promise<InstanceRow>
  /**
   * Waits until a row is as wanted; meanwhile the clock goes on and the reconciler is kicked.
   * @param options.seconds How far the clock goes on at each look; 0 unless told otherwise.
   */
  until(
    id: string,
    wanted: InstanceStatus | 'terminated' | ((row: InstanceRow) => boolean),
    options?: { seconds?: number },
  ): Promise<InstanceRow>
  /** Puts a row into a status, as it would be there; for tests of the state table. */
  force(id: string, status: InstanceStatus): Promise<void>
  /** That the books balance, and that what is open fits the row's status. */
  expectSound(id: string): Promise<void>
  eventCodes(userId: string, id: string): Promise<string[]>
  intervals(id: string): Promise<(typeof usageInterval.$inferSelect)[]>
  close(): Promise<void>
}

interface GatewayOptions {
  compute?: FakeDriver | null
  computeMissing?: string | null
  limits?: Partial<ReconcileLimits>
  gpus?: RealGpu[]
  /** Whose machines its driver holds; the fixture's own unless told otherwise. */
  installationId?: string
  listen?: boolean
}

export async function createInstancesFixture(options: GatewayOptions = {}): Promise<InstancesFixture> {
  const base = await createBillingFixture()
  const { db, clock, ids, log, billing } = base
  const catalogue = loadCatalogue(CATALOGUE)
  const compute = options.compute ?? createFakeDriver({ clock })
  const started: Instances[] = []
  const notices: InstancesFixture['notices'] = []

  const gateway: InstancesFixture['gateway'] = (own = {}) => {
    const driver = own.compute === undefined ? compute : own.compute
    const computeMissing = own.computeMissing ?? null
    const regions = createRegions({ db, catalogue, gpus: own.gpus ?? [] })
    const images = createImages({ catalogue, driverName: driver?.name ?? null })
    const quotes = createQuotes({ db, catalogue, regions, images, billing, compute: driver, computeMissing })
    const made = createInstances({
      db,
      clock,
      ids,
      log,
      compute: driver,
      computeMissing,
      installationId: own.installationId ?? INSTALLATION_ID,
      catalogue,
      billing: base.replica({ payments: [] }),
      notices: { instanceTrouble: async (_, facts) => void notices.push(facts) },
      requireOpen: async () => {},
      regions,
      images,
      quotes,
      listen: own.listen ? base.database.listen : null,
      limits: { ...TEST_LIMITS, ...own.limits },
      host: { cpu_count: 4, memory_mb: 8_192 },
    })
    started.push(made)
    return made
  }

  await createRegions({ db, catalogue, gpus: options.gpus ?? [] }).syncStock()
  const instances = gateway(options)

  async function row(id: string): Promise<InstanceRow> {
    const [found] = await db.select().from(instance).where(eq(instance.id, id))
    if (!found) throw new Error(`no instance ${id}`)
    return found
  }

  const fixture: InstancesFixture = {
    ...base,
    compute,
    instances,
    notices,
    gateway,
    row,
    payer: (creditCents = 10_000) => base.customer({ creditCents }),
    async deploy(userId, body = {}, key = randomUUID()) {
      const done = await instances.deploy({ userId, idempotencyKey: key, body: deployBody(body) })
      return done.instance_id
    },
    async running(userId, body) {
      const id = await fixture.deploy(userId, body)
      await fixture.until(id, 'running')
      return id
    },
    async until(id, wanted, { seconds = 0 } = {}) {
      const deadline = performance.now() + EVENTUALLY_MS
      for (;;) {
        const found = await row(id)
        if (isAs(found, wanted)) return found
        if (performance.now() > deadline) {
          throw new Error(`${id} is ${found.status}, not as wanted: ${JSON.stringify(shown(found))}`)
        }
        clock.advance(seconds)
        for (const one of started) one.reconciler.kick(id)
        await new Promise(resolve => setTimeout(resolve, POLL_MS))
      }
    },
    async force(id, status) {
      const at = clock.now()
      await db
        .update(instance)
        .set({
          status,
          desired: desiredOf(status),
          holdsGpus: MEANING[status].gpus,
          statusSince: at,
          nextAttemptAt: at,
        })
        .where(eq(instance.id, id))
    },
    async expectSound(id) {
      const found = await row(id)
      const meaning = MEANING[found.status]
      const open = (await fixture.intervals(id)).filter(({ endedAt }) => endedAt === null)
      const rate = meaning.usage === 'disk' ? found.stoppedMicroPerHour : found.runningMicroPerHour
      const usage = meaning.usage && rate > 0n ? [meaning.usage] : []
      expect(open.map(interval => interval.usage)).toEqual(found.terminatedAt ? [] : usage)
      const holds = await db
        .select()
        .from(walletHold)
        .where(and(eq(walletHold.instanceId, id), isNull(walletHold.releasedAt)))
      expect(holds).toHaveLength(meaning.hold && !found.terminatedAt ? 1 : 0)
      expect(found.holdsGpus && !meaning.gpus).toBe(false)
      expect(await billing.checkBooks()).toEqual([])
    },
    async eventCodes(userId, id) {
      const events = await instances.events({ userId, instanceId: id })
      return events.map(({ code }) => code).reverse()
    },
    intervals: id =>
      db
        .select()
        .from(usageInterval)
        .where(eq(usageInterval.instanceId, id))
        .orderBy(asc(usageInterval.startedAt), asc(usageInterval.id)),
    async close() {
      compute.faults.heal()
      await Promise.all(started.map(one => one.reconciler.stop()))
      await base.database.drop()
    },
  }
  return fixture
}

/** What a deploy form holds: a CPU machine of 0.08 an hour in us-west. */
export function deployBody(part: Partial<DeployBody> = {}): DeployBody {
  return {
    name: 'llama-finetune',
    kind: 'POD',
    region_code: 'us-west',
    gpu_spec_id: 'cpu',
    gpu_count: 1,
    image_id: 'berth-base',
    billing_type: 'postpay',
    charge_cycle: null,
    container_disk_gb: 20,
    http_ports: [8080],
    tcp_ports: [],
    env: {},
    start_command: '',
    ...part,
  }
}

/** What a start asks for: the CPU machine, under a key of its own. */
export function startWanted(part: Partial<StartWanted> = {}): StartWanted {
  return { specId: 'cpu', gpuCount: 1, idempotencyKey: randomUUID(), ...part }
}

function desiredOf(status: InstanceStatus): InstanceRow['desired'] {
  if (status === 'deleting') return 'terminated'
  return ['stopping', 'stopped', 'exited', 'error'].includes(status) ? 'stopped' : 'running'
}

function isAs(row: InstanceRow, wanted: Parameters<InstancesFixture['until']>[1]): boolean {
  if (typeof wanted === 'function') return wanted(row)
  if (wanted === 'terminated') return row.terminatedAt !== null
  return row.status === wanted
}

function shown({ desired, reasonCode, reasonDetail, progress, attempts, failureCode }: InstanceRow) {
  return { desired, reasonCode, reasonDetail, progress, attempts, failureCode }
}
