import { randomUUID } from 'node:crypto'
import type { InstanceStatus } from '@berth/contract/instance-states'
import type { DeployBody } from '@berth/contract/instances'
import { INSTANCES_PER_USER_DEFAULT } from '@berth/contract/limits'
import type { SshKey } from '@berth/contract/ssh-keys'
import { and, asc, eq, isNull } from 'drizzle-orm'
import { expect, onTestFinished } from 'vitest'
import { PATIENCE_MS } from '../../../../../scripts/test/patience-ms.ts'
import { shippedCatalogue } from '../../../test/shipped-catalogue.ts'
import { createTestImageStore } from '../../../test/test-image-store.ts'
import { testSealer } from '../../../test/test-sealer.ts'
import { computeFailure, createFakeEngine, type FakeEngine } from '../../drivers/compute/fake/fake-engine.ts'
import type { RealGpu } from '../../drivers/compute/port/engine.ts'
import type { LayoutStore } from '../../drivers/image-store/port.ts'
import type { CatalogueImage } from '../../platform/config/catalogue.ts'
import type { Meter } from '../billing/billing.ts'
import { type BillingFixture, createBillingFixture } from '../billing/billing-fixture.ts'
import { walletHold } from '../billing/ledger/tables.ts'
import { usageInterval, usageMeter } from '../billing/meters/tables.ts'
import { type Budgets, createBudgets } from '../budgets/budgets.ts'
import { createFleet, type Fleet, type FleetSource } from '../fleet/fleet.ts'
import { createImages, type Images } from '../images/images.ts'
import { createPublicIps, type PublicIps } from '../public-ips/public-ips.ts'
import { createRegions } from '../regions/regions.ts'
import { createStock } from '../regions/stock.ts'
import { stockClaim } from '../regions/tables.ts'
import { createGuestKeys } from '../ssh-keys/guest-keys.ts'
import { createVolumes, type Volumes } from '../volumes/volumes.ts'
import type { StartWanted } from './act/actions.ts'
import { instancesInTrouble } from './events.ts'
import { endImage, imagesInUse } from './images-of.ts'
import { createInstances, type Instances } from './instances.ts'
import { createQuotes, type Quotes } from './offer/quotes.ts'
import { countByImage } from './reads.ts'
import { RECONCILE_LIMITS, type ReconcileLimits } from './reconcile/limits.ts'
import type { InstanceRow } from './rows.ts'
import { isHeld, MEANING, metersOf } from './status-meaning.ts'
import { instance } from './tables.ts'

/** What every customer has. */
export const CUSTOMERS_KEY: SshKey = {
  id: 'key',
  name: 'laptop',
  type: 'ssh-ed25519',
  bits: null,
  fingerprint: 'SHA256:',
  public_key: 'ssh-ed25519 AAAA laptop',
  created_at: new Date(0).toISOString(),
}

/** Where direct ports of all instances would be. */
export const SHARED_ADDRESS = '127.0.0.2'
/** Longer than any test. */
const SERVED_MS = 86_400_000
/** Of loops that tests do not start. */
const LOOK_MS = 60_000

/** Nothing that does not hang meets these, however slow the computer is. */
const PATIENT: ReconcileLimits = {
  ...RECONCILE_LIMITS,
  stepMs: { status: 60_000, boot: 60_000, probe: 60_000, stop: 60_000, remove: 60_000 },
}
const IMPATIENT = {
  stepMs: { status: 250, boot: 250, probe: 250, stop: 250, remove: 250 },
  pullStallMs: 250,
  abortGraceMs: 20,
} satisfies Partial<ReconcileLimits>
const POLL_MS = 15

/** The domain with a fake driver and real money, on a database of its own. */
export interface InstancesFixture extends Omit<BillingFixture, 'driver'> {
  compute: FakeEngine
  publicIps: PublicIps
  instances: Instances
  /** Another gateway on the same database; its reconciler is not started. */
  gateway(options?: GatewayOptions): Promise<Instances>
  /** Budgets of a gateway; their loop is not started. */
  budgetsAt(gateway: Instances): Budgets
  /** What a gateway knows of engines. */
  fleetOf(gateway: Instances): Fleet
  /** Volumes of a gateway; their loop is not started. */
  volumesAt(gateway: Instances): Volumes
  /** Images of a gateway; their loop is not started. */
  imagesAt(gateway: Instances): Images
  /** Prices of the first gateway. */
  quotes: Quotes
  /** A customer with 100.00, or with credits of that many cents. */
  payer(creditCents?: number): Promise<string>
  /** Deploys; a CPU machine in us-west unless told otherwise. */
  deploy(userId: string, body?: Partial<DeployBody>, key?: string): Promise<string>
  /** Deploys and waits until it runs. */
  running(userId: string, body?: Partial<DeployBody>): Promise<string>
  /**
   * Has calls that hang given up within a test's patience, until this test ends. Not in all tests: on a slow computer
   * a call that does not hang meets that, too, and the pause before it is made again is by a clock that may stand still.
   */
  giveUpSoon(): void
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
  /** How many units of the stock an instance has. */
  takenBy(id: string): Promise<number>
  eventCodes(userId: string, id: string): Promise<string[]>
  /** What was told of a customer's instances in trouble, oldest first. */
  troubles(userId: string): unknown[]
  /** Its stretches with what ran in them; `disk` where that were its disks alone. */
  intervals(
    id: string,
  ): Promise<(typeof usageInterval.$inferSelect & { meters: Meter[]; usage: 'compute' | 'disk' })[]>
  close(): Promise<void>
}

interface GatewayOptions {
  compute?: FakeEngine | null
  gpus?: RealGpu[]
  /** Regions that its engine makes machines for; all of them unless told otherwise. */
  regionCodes?: string[]
  /** In place of that one engine. */
  sources?: FleetSource[]
  /** Regions that the operator has closed. */
  closed?: string[]
  listen?: boolean
  /** Where images are kept; one of its own unless told otherwise. */
  imageStore?: LayoutStore
}

interface FixtureOptions extends GatewayOptions {
  /** Images of virtual machines, which the catalogue has besides those that ship; an engine of its own makes them. */
  vmImages?: CatalogueImage[]
  /** What a GB that machines send costs in every region. */
  trafficMicroPerGb?: bigint
}

export async function createInstancesFixture(options: FixtureOptions = {}): Promise<InstancesFixture> {
  const base = await createBillingFixture()
  const { db, clock, ids, log, billing } = base
  const { vmImages = [] } = options
  const plain = shippedCatalogue()
  const regions = plain.regions.map(one => ({
    ...one,
    traffic_micro_per_gb: options.trafficMicroPerGb ?? one.traffic_micro_per_gb,
  }))
  const shipped = { ...plain, regions, images: [...plain.images, ...vmImages] }
  const size = { cpu_count: 4, memory_mb: 8_192, gpus: options.gpus ?? [] }
  const compute = options.compute ?? createFakeEngine({ clock, size })
  const vmEngines = vmImages.length > 0 ? [createFakeEngine({ clock, size, id: 'vms', kinds: ['VM'] })] : []
  const started: Instances[] = []
  const fleets = new Map<Instances, Fleet>()
  const quotesOf = new Map<Instances, Quotes>()
  const volumesOf = new Map<Instances, Volumes>()
  const imagesOf = new Map<Instances, Images>()
  const budgetsOf = new Map<Instances, Budgets>()
  const imageStore = options.imageStore ?? createTestImageStore().store
  const limits = { ...PATIENT }
  const publicIps = createPublicIps({ db, clock, ids, catalogue: shipped })
  await publicIps.seed()
  // As if a gateway listened at all of them.
  const addresses = (await publicIps.unserved()).map(({ address }) => address)
  await publicIps.serve(ids.uuid(), addresses, SERVED_MS)

  const gateway: InstancesFixture['gateway'] = async (own = {}) => {
    const engine = own.compute === undefined ? compute : own.compute
    const catalogue = {
      ...shipped,
      regions: shipped.regions.map(one =>
        own.closed?.includes(one.code) ? { ...one, enabled: false } : one,
      ),
    }
    const fleet = createFleet({
      db,
      log,
      selfId: ids.uuid(),
      sources:
        own.sources ??
        [engine, ...vmEngines].map((one, index) => ({
          description: `the test’s engine ${index}`,
          regionCodes: own.regionCodes ?? catalogue.regions.map(({ code }) => code),
          formerId: () => null,
          async open() {
            if (one) return one
            throw computeFailure('engine_unavailable')
          },
        })),
      listen: base.database.listen,
    })
    const regions = createRegions({ db, clock, catalogue, fleet, isDraining: () => false })
    fleet.onChange(regions.seedStock)
    const images: Images = createImages({
      ...{ db, clock, ids, log, catalogue, regions, fleet, billing, listen: null },
      events: base.events,
      registries: { ...noRegistries, list: async () => [] },
      git: { isHere: false, fetch: () => Promise.reject(new Error('there is no git')) },
      store: imageStore,
      instancesOf: countByImage,
      usedAmong: imagesInUse,
      beginBuild: (target, imageId, run, isDone) => made.beginImage(target, imageId, { run, isDone }),
      endBuild: endImage,
      nameOf: async () => 'Test',
      countUpload: () => ({ current: 1, ttlMs: 1 }),
    })
    const volumes = createVolumes({
      db,
      clock,
      ids,
      log,
      catalogue,
      regions,
      fleet,
      billing: base.replica({ payments: [] }),
      events: base.events,
      listen: null,
      holders: (q, userId) => made.holdersOfVolumes(q, userId),
      ownedByInstances: (q, engineId) => made.ownVolumesOn(q, engineId),
    })
    const budgets = createBudgets({
      ...{ db, clock, ids, log, billing, events: base.events, owner: fleet.selfId, lookMs: LOOK_MS },
      instancesThere: (q, wanted) => made.instancesThere(q, wanted),
      keysThere: async () => new Map(),
      keysSpent: async () => new Map(),
      stop: userId => made.stopForBudget(userId),
    })
    const quotes = createQuotes({
      db,
      catalogue,
      regions,
      publicIps,
      images,
      billing,
      budgets,
      fleet,
      registries: noRegistries,
      volumes,
      directPortsLeft: async () => null,
    })
    const made: Instances = createInstances({
      budgets,
      db,
      clock,
      ids,
      log,
      fleet,
      catalogue,
      billing: base.replica({ payments: [] }),
      events: base.events,
      regions,
      publicIps,
      sharedAddress: SHARED_ADDRESS,
      images,
      sshKeys: {
        list: async () => [CUSTOMERS_KEY],
        guestKeys: createGuestKeys(Buffer.alloc(32)),
        requireOwn: async () => undefined,
      },
      quotes,
      volumes,
      listen: own.listen ? base.database.listen : null,
      limits,
      instancesMax: INSTANCES_PER_USER_DEFAULT,
      sealer: testSealer,
    })
    await fleet.start()
    await regions.seedStock()
    started.push(made)
    fleets.set(made, fleet)
    quotesOf.set(made, quotes)
    volumesOf.set(made, volumes)
    imagesOf.set(made, images)
    budgetsOf.set(made, budgets)
    return made
  }

  const instances = await gateway(options)
  const stock = createStock({ db, clock })
  const quotes = quotesOf.get(instances)
  if (!quotes) throw new Error('the first gateway has no prices')

  async function row(id: string): Promise<InstanceRow> {
    const [found] = await db.select().from(instance).where(eq(instance.id, id))
    if (!found) throw new Error(`no instance ${id}`)
    return found
  }

  const fixture: InstancesFixture = {
    ...base,
    compute,
    publicIps,
    instances,
    quotes,
    gateway,
    fleetOf(one) {
      const fleet = fleets.get(one)
      if (!fleet) throw new Error('not a gateway of this fixture')
      return fleet
    },
    budgetsAt(one) {
      const budgets = budgetsOf.get(one)
      if (!budgets) throw new Error('not a gateway of this fixture')
      return budgets
    },
    imagesAt(one) {
      const images = imagesOf.get(one)
      if (!images) throw new Error('not a gateway of this fixture')
      return images
    },
    volumesAt(one) {
      const volumes = volumesOf.get(one)
      if (!volumes) throw new Error('not a gateway of this fixture')
      return volumes
    },
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
    giveUpSoon() {
      Object.assign(limits, IMPATIENT)
      onTestFinished(() => {
        Object.assign(limits, PATIENT)
      })
    },
    async until(id, wanted, { seconds = 0 } = {}) {
      const deadline = performance.now() + PATIENCE_MS
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
      await db.transaction(async tx => {
        await tx
          .update(instance)
          .set({
            status,
            desired: desiredOf(status),
            mayRun: MEANING[status].mayRun ?? false,
            statusSince: at,
            nextAttemptAt: at,
          })
          .where(eq(instance.id, id))
        const { regionCode, gpuSpecId: specId, gpuCount: count } = await row(id)
        const claim = { subjectId: id, regionCode, specId, count }
        if (MEANING[status].gpus) await stock.take(tx, claim, [{ engineId: compute.id, gpuUuids: [] }])
        else await stock.giveBack(tx, id)
      })
    },
    async expectSound(id) {
      const found = await row(id)
      const open = (await fixture.intervals(id)).filter(({ endedAt }) => endedAt === null)
      const { meters } = metersOf(found)
      expect(open.map(interval => interval.meters)).toEqual(meters.length > 0 ? [meters] : [])
      const holds = await db
        .select()
        .from(walletHold)
        .where(and(eq(walletHold.subjectId, id), isNull(walletHold.releasedAt)))
      expect(holds).toHaveLength(isHeld(found) && !found.terminatedAt ? 1 : 0)
      expect(await instances.checkStock()).toEqual([])
      expect(await billing.checkBooks()).toEqual([])
    },
    async takenBy(id) {
      const claims = await db.select().from(stockClaim).where(eq(stockClaim.subjectId, id))
      return claims[0]?.count ?? 0
    },
    troubles: userId =>
      base.events.told
        .filter(({ event }) => event === instancesInTrouble.name)
        .map(({ payload }) => instancesInTrouble.payload.parse(payload))
        .filter(trouble => trouble.userId === userId),
    async eventCodes(userId, id) {
      const events = await instances.events({ userId, instanceId: id })
      return events.map(({ code }) => code).reverse()
    },
    async intervals(id) {
      const stretches = await db
        .select()
        .from(usageInterval)
        .where(eq(usageInterval.subjectId, id))
        .orderBy(asc(usageInterval.startedAt), asc(usageInterval.id))
      const rows = await db.select().from(usageMeter).orderBy(asc(usageMeter.position))
      return stretches.map(stretch => {
        const own = rows.filter(({ intervalId }) => intervalId === stretch.id)
        const meters = own.map(({ intervalId: _, position: _at, ...meter }) => meter)
        return { ...stretch, meters, usage: meters[0]?.sku.startsWith('disk.') ? 'disk' : 'compute' }
      })
    },
    async close() {
      compute.faults.heal()
      await Promise.all(started.map(one => one.reconciler.stop()))
      await Promise.all([...fleets.values()].map(fleet => fleet.stop()))
      await base.database.drop()
    },
  }
  return fixture
}

/** Images of the catalogue are not looked for. */
const noRegistries: Parameters<typeof createQuotes>[0]['registries'] = {
  askImage: async () => ({ result: 'away' }),
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
    image_reference: null,
    registry_credential_id: null,
    billing_type: 'postpay',
    charge_cycle: null,
    auto_renew: true,
    price_micro: null,
    container_disk_gb: 20,
    data_disk_gb: null,
    pod_volume_gb: null,
    pod_volume_path: '/workspace',
    http_ports: [8080],
    tcp_ports: [],
    udp_ports: [],
    public_ip: 'shared',
    env: {},
    secret_env: [],
    start_command: '',
    on_command_end: 'keep',
    stop_at: null,
    spend_limit_cents: null,
    idle_stop_minutes: null,
    ssh_key_ids: null,
    network_volume: null,
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
