import type { CallData } from '@berth/contract/call'
import { type DeploySetup, deploySetup } from '@berth/contract/deploy-templates'
import {
  instanceEvent as eventEntity,
  type Instance,
  instance as instanceEntity,
  type listInstanceEvents,
} from '@berth/contract/instances'
import { SYSTEM_DISK_FREE_GB } from '@berth/contract/limits'
import { and, asc, count, desc, eq, gt, gte, inArray, isNotNull, isNull, lte, ne, or } from 'drizzle-orm'
import type { Catalogue } from '../../platform/config/catalogue.ts'
import type { Database, Queryable } from '../../platform/database/database.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import { wireOf } from '../../platform/http/wire.ts'
import type { Billing } from '../billing/billing.ts'
import type { Fleet } from '../fleet/fleet.ts'
import type { Images } from '../images/images.ts'
import type { BoundIp, PublicIps } from '../public-ips/public-ips.ts'
import type { Holder } from '../volumes/volumes.ts'
import type { Target } from './act/actions.ts'
import { deletionOf } from './deletion/deletion-rules.ts'
import { ownDiskOf } from './own-disk.ts'
import { dedicatedOf, sharedOf } from './public-ip/address.ts'
import { machineNotes } from './reconcile/machine-spec.ts'
import { type InstanceRow, shownStatus } from './rows.ts'
import { instance, instanceEvent } from './tables.ts'
import { inTerm } from './terms/term-rules.ts'

const instanceOf = wireOf(instanceEntity)
const eventOf = wireOf(eventEntity)
const setupOf = wireOf(deploySetup)

export interface ReadDeps {
  db: Database
  billing: Pick<Billing, 'balance' | 'costMicro' | 'totals'>
  catalogue: Pick<Catalogue, 'regions'>
  images: Pick<Images, 'officialName'>
  fleet: Pick<Fleet, 'known'>
  publicIps: Pick<PublicIps, 'boundTo' | 'boundToAny'>
  /** Where customers reach direct ports of all instances; null where nobody does. */
  sharedAddress: string | null
}

/** Events of one instance that a page shows; older ones stay in the table for receipts. */
const EVENTS_MAX = 200

/** Those of the instances that are not gone, with whose they are and their names, by id. */
export async function instancesThere(
  q: Queryable,
  ids: string[],
): Promise<Map<string, { userId: string; name: string }>> {
  if (ids.length === 0) return new Map()
  const rows = await q
    .select({ id: instance.id, userId: instance.userId, name: instance.name })
    .from(instance)
    .where(and(inArray(instance.id, ids), isNull(instance.terminatedAt)))
  return new Map(rows.map(({ id, ...row }) => [id, row]))
}

/**
 * A customer's instances, newest first.
 * @param deps Also asked for what each has cost so far.
 */
export async function list(deps: ReadDeps, userId: string): Promise<Instance[]> {
  const rows = await deps.db
    .select()
    .from(instance)
    .where(and(eq(instance.userId, userId), isNull(instance.terminatedAt)))
    .orderBy(desc(instance.createdAt), desc(instance.id))
  return toInstances(deps, userId, rows)
}

/**
 * One of a customer's instances.
 * @throws ApiError `not_found`.
 */
export async function get(deps: ReadDeps, target: Target): Promise<Instance> {
  const [found] = await toInstances(deps, target.userId, [await findOwn(deps.db, target)])
  if (!found) throw new ApiError('not_found')
  return found
}

/** An instance as its customer sees it; null where it is gone for good. */
export interface SeenInstance {
  id: string
  userId: string
  instance: Instance | null
}

/**
 * Instances of any customers as these see them now, with what each has cost so far: four queries, however many they are.
 * @param ids Those that there are none of are left out.
 */
export async function seen(deps: ReadDeps, ids: string[]): Promise<SeenInstance[]> {
  const { db, billing, publicIps } = deps
  const rows = await db.select().from(instance).where(inArray(instance.id, ids))
  const live = rows.filter(({ terminatedAt }) => terminatedAt === null)
  const owners = [...new Set(live.map(({ userId }) => userId))]
  const liveIds = live.map(({ id }) => id)
  const [costs, addresses, balances] = await Promise.all([
    billing.costMicro(db, 'instance', liveIds),
    publicIps.boundToAny(db, liveIds),
    Promise.all(owners.map(async userId => [userId, (await billing.balance(userId)).currency] as const)),
  ])
  const currencies = new Map(balances)
  return rows.map(row => {
    const { id, userId } = row
    const currency = currencies.get(userId)
    if (row.terminatedAt !== null || currency === undefined) return { id, userId, instance: null }
    const bound = addresses.get(id) ?? null
    return {
      id,
      userId,
      instance: toInstance(deps, row, { currency, costMicro: costs.get(id) ?? 0n, bound }),
    }
  })
}

/** Rows of a customer as the customer sees them, with what each has cost so far. */
export async function toInstances(
  deps: ReadDeps,
  userId: string,
  rows: readonly InstanceRow[],
): Promise<Instance[]> {
  const { db, billing, publicIps } = deps
  if (rows.length === 0) return []
  const ids = rows.map(({ id }) => id)
  const [costs, { currency }, addresses] = await Promise.all([
    billing.costMicro(db, 'instance', ids),
    billing.totals(db, userId),
    publicIps.boundToAny(db, ids),
  ])
  return rows.map(row =>
    toInstance(deps, row, {
      currency,
      costMicro: costs.get(row.id) ?? 0n,
      bound: addresses.get(row.id) ?? null,
    }),
  )
}

/** How many instances were removed by their customers, and have a machine that could not be removed until now. */
export async function countUnremoved(db: Database): Promise<number> {
  const stuck = and(eq(instance.desired, 'terminated'), eq(instance.status, 'error'))
  const [row] = await db
    .select({ count: count() })
    .from(instance)
    .where(and(stuck, isNull(instance.terminatedAt)))
  return row?.count ?? 0
}

/** Statuses that pass by themselves. */
const PASSING = ['creating', 'pulling', 'restarting', 'stopping', 'deleting'] as const

/** Live instances that have been in a passing status since before that, the oldest first. */
export async function stuckSince(
  db: Database,
  before: Date,
): Promise<Pick<InstanceRow, 'id' | 'status' | 'statusSince'>[]> {
  return await db
    .select({ id: instance.id, status: instance.status, statusSince: instance.statusSince })
    .from(instance)
    .where(
      and(
        inArray(instance.status, PASSING),
        lte(instance.statusSince, before),
        isNull(instance.terminatedAt),
      ),
    )
    .orderBy(asc(instance.statusSince))
}

/** How many live instances each engine has, by its id. */
export async function enginesInUse(db: Database): Promise<Map<string, number>> {
  const rows = await db
    .select({ id: instance.engineId, count: count() })
    .from(instance)
    .where(and(isNotNull(instance.engineId), isNull(instance.terminatedAt)))
    .groupBy(instance.engineId)
  return new Map(rows.map(row => [row.id ?? '', row.count]))
}

/**
 * What happened to an instance, newest first.
 * @throws ApiError `not_found`.
 */
export async function events(
  { db }: Pick<ReadDeps, 'db'>,
  target: Target,
): Promise<CallData<typeof listInstanceEvents>> {
  await findOwn(db, target)
  const rows = await db
    .select()
    .from(instanceEvent)
    .where(eventsOf(target))
    .orderBy(desc(instanceEvent.id))
    .limit(EVENTS_MAX)
  return rows.map(row => eventOf({ ...row, id: String(row.id) }))
}

/** What happened to an instance in a stretch of time, both ends included, oldest first; terminated ones too. */
export async function eventsBetween(
  q: Queryable,
  { from, to, ...target }: Target & { from: Date; to: Date },
): Promise<Pick<typeof instanceEvent.$inferSelect, 'at' | 'status' | 'code' | 'detail'>[]> {
  return q
    .select({
      at: instanceEvent.at,
      status: instanceEvent.status,
      code: instanceEvent.code,
      detail: instanceEvent.detail,
    })
    .from(instanceEvent)
    .where(and(eventsOf(target), gte(instanceEvent.at, from), lte(instanceEvent.at, to)))
    .orderBy(asc(instanceEvent.id))
}

/**
 * Whether some machine of a customer is deleted some time after the balance is used up: a pod that is on, since it stays
 * stopped then (R9.6), or a virtual machine whose disks cost something that nobody pays (B4).
 */
export async function losesMachines(q: Queryable, userId: string): Promise<boolean> {
  const rows = await q
    .select()
    .from(instance)
    .where(
      and(
        eq(instance.userId, userId),
        or(
          and(eq(instance.kind, 'POD'), eq(instance.desired, 'running')),
          and(
            eq(instance.kind, 'VM'),
            ne(instance.desired, 'terminated'),
            gt(instance.stoppedMicroPerHour, 0n),
          ),
        ),
        isNull(instance.terminatedAt),
      ),
    )
  return rows.some(row => !inTerm(row))
}

/**
 * One of a customer's own instances.
 * @throws ApiError `not_found`: the same for another customer's and for one that is not there (R6.4).
 */
export async function findOwn(q: Queryable, { userId, instanceId }: Target): Promise<InstanceRow> {
  const [row] = await q
    .select()
    .from(instance)
    .where(and(eq(instance.id, instanceId), eq(instance.userId, userId), isNull(instance.terminatedAt)))
  if (!row) throw new ApiError('not_found')
  return row
}

/**
 * One of a customer's own instances, though it may be gone for good.
 * @throws ApiError `not_found`.
 */
export async function findOwnEver(q: Queryable, { userId, instanceId }: Target): Promise<InstanceRow> {
  const [row] = await q
    .select()
    .from(instance)
    .where(and(eq(instance.id, instanceId), eq(instance.userId, userId)))
  if (!row) throw new ApiError('not_found')
  return row
}

/** What an instance was deployed with, its secrets included. @throws ApiError `not_found`. */
export async function setup(
  { db, publicIps }: Pick<ReadDeps, 'db' | 'publicIps'>,
  target: Target,
): Promise<DeploySetup> {
  const row = await findOwn(db, target)
  const bound = await publicIps.boundTo(db, row.id)
  // A moment that was set passes, and so does a price: they are no part of what is repeated.
  return setupOf({ ...row, stopAt: null, priceMicro: null, publicIp: bound ? 'dedicated' : 'shared' })
}

/** Instances of a customer that are not gone and have a volume, the oldest first. */
export async function holdersOfVolumes(q: Queryable, userId: string): Promise<Holder[]> {
  const rows = await q
    .select()
    .from(instance)
    .where(and(eq(instance.userId, userId), isNull(instance.terminatedAt), isNotNull(instance.networkVolume)))
    .orderBy(asc(instance.createdAt), asc(instance.id))
  return rows.flatMap(row => {
    const { id, name, networkVolume, mayRun, desired } = row
    if (!networkVolume) return []
    const status = shownStatus(row)
    const busy = mayRun || desired === 'running'
    return { volumeId: networkVolume.id, instanceId: id, name, status, path: networkVolume.path, busy }
  })
}

/** How many of a customer's instances that are not gone were made from each image of the catalogue or of a customer. */
export async function countByImage(q: Queryable, userId: string): Promise<Map<string, number>> {
  const rows = await q
    .select({ imageId: instance.imageId, instances: count() })
    .from(instance)
    .where(and(eq(instance.userId, userId), isNull(instance.terminatedAt), isNotNull(instance.imageId)))
    .groupBy(instance.imageId)
  return new Map(rows.map(row => [row.imageId ?? '', row.instances]))
}

/** Whose instance that is, whatever its state; null where there is none. */
export async function ownerOf(q: Queryable, instanceId: string): Promise<string | null> {
  const [row] = await q
    .select({ userId: instance.userId })
    .from(instance)
    .where(and(eq(instance.id, instanceId), isNull(instance.terminatedAt)))
  return row?.userId ?? null
}

/** By what an instance may be entered, whatever its state. */
export type Access = Pick<InstanceRow, 'userId' | 'sshKeyIds' | 'tcpPorts' | 'udpPorts'>

/** By what an instance may be entered; null where there is none. */
export async function accessOf(q: Queryable, instanceId: string): Promise<Access | null> {
  const { userId, sshKeyIds, tcpPorts, udpPorts } = instance
  const [row] = await q
    .select({ userId, sshKeyIds, tcpPorts, udpPorts })
    .from(instance)
    .where(and(eq(instance.id, instanceId), isNull(instance.terminatedAt)))
  return row ?? null
}

/** The engine of an instance, whatever its state; none for one that is not there. */
export async function engineOf(q: Queryable, instanceId: string): Promise<Pick<InstanceRow, 'engineId'>> {
  const [row] = await q
    .select({ engineId: instance.engineId })
    .from(instance)
    .where(eq(instance.id, instanceId))
  return row ?? { engineId: null }
}

/** What the ways into a running instance are made from. */
export type RunningInstance = Pick<
  InstanceRow,
  'id' | 'kind' | 'httpPorts' | 'tcpPorts' | 'udpPorts' | 'serviceSecret'
>

/**
 * One of a customer's own instances, if it runs.
 * @throws ApiError `not_found` or `instance_not_running`.
 */
export async function findRunning(q: Queryable, target: Target): Promise<RunningInstance> {
  const { id, kind, status, httpPorts, tcpPorts, udpPorts, serviceSecret } = await findOwn(q, target)
  if (status !== 'running') throw new ApiError('instance_not_running')
  return { id, kind, httpPorts, tcpPorts, udpPorts, serviceSecret }
}

export interface Service {
  instanceId: string
  userId: string
  httpPorts: number[]
  running: boolean
}

/** The instance whose HTTP services live on the origin of that secret; null when there is none. */
export async function findService(q: Queryable, secret: string): Promise<Service | null> {
  const [row] = await q
    .select()
    .from(instance)
    .where(and(eq(instance.serviceSecret, secret), isNull(instance.terminatedAt)))
  if (!row) return null
  const { id, userId, httpPorts, status } = row
  return { instanceId: id, userId, httpPorts, running: status === 'running' }
}

function eventsOf({ userId, instanceId }: Target) {
  return and(eq(instanceEvent.instanceId, instanceId), eq(instanceEvent.userId, userId))
}

function toInstance(
  deps: ReadDeps,
  row: InstanceRow,
  { bound, ...money }: { currency: string; costMicro: bigint; bound: BoundIp | null },
): Instance {
  const { catalogue } = deps
  const { spec } = row
  return instanceOf({
    ...row,
    ...money,
    status: shownStatus(row),
    instanceId: row.id,
    commandEnd: row.status === 'running' ? commandEndOf(row) : null,
    changesWait: row.status === 'running' && row.changesWait,
    reason: row.reasonCode === null ? null : { code: row.reasonCode, detail: row.reasonDetail ?? '' },
    regionName: catalogue.regions.find(({ code }) => code === row.regionCode)?.name ?? row.regionCode,
    gpuSpecName: spec.name,
    gpu: spec.gpu,
    vramGb: spec.vram_gb,
    vcpu: spec.vcpu,
    memoryGb: spec.memory_gb,
    imageName: imageName(deps, row),
    eip: bound ? dedicatedOf(bound) : sharedOf(deps.sharedAddress, row),
    disks: disksOf(row),
    runningMicroPerHour: row.billingType === 'prepay' ? 0n : row.runningMicroPerHour,
    stoppedMicroPerDay: inTerm(row) ? 0n : row.stoppedMicroPerHour * 24n,
    deletedOn: deletionOf(row),
    machine: toMachine(deps, row),
  })
}

/** What it starts from is a pod's container disk or a virtual machine's system disk; the rest stands beside that. */
function disksOf(row: InstanceRow): Instance['disks'] {
  const { kind, containerDiskGb: sizeGb, networkVolume } = row
  const own = ownDiskOf(row)
  const [data, podVolume] = [own?.kind === 'data_disk' && own, own?.kind === 'pod_volume' && own]
  return {
    container_gb: kind === 'POD' ? sizeGb : 0,
    system_gb: kind === 'VM' ? sizeGb : 0,
    free_gb: Math.min(sizeGb, SYSTEM_DISK_FREE_GB),
    data_gb: data ? data.sizeGb : 0,
    data_path: data ? data.path : null,
    pod_volume_gb: podVolume ? podVolume.sizeGb : 0,
    pod_volume_path: podVolume ? podVolume.path : null,
    network_volume: networkVolume,
  }
}

function commandEndOf({ commandEnd }: InstanceRow): Instance['command_end'] {
  if (!commandEnd) return null
  const { noted_at: _, ...end } = commandEnd
  return end
}

/** What a customer should know of where it runs; null while it was given to no engine. */
function toMachine({ fleet }: ReadDeps, row: InstanceRow): Instance['machine'] {
  const engine = row.engineId === null ? null : fleet.known(row.engineId)
  if (!engine) return null
  const { driver, facts } = engine
  return { driver, notes: facts ? machineNotes(row, facts) : [] }
}

/** The catalogue may have dropped an image that still runs. */
function imageName({ images }: ReadDeps, row: InstanceRow): string {
  const { imageId, imageName, imageReference } = row
  return imageName ?? imageReference ?? (imageId && images.officialName(imageId)) ?? imageId ?? ''
}
