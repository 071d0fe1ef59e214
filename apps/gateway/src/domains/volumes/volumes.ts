import { VOLUMES_GB_PER_USER_MAX, VOLUMES_PER_USER_MAX } from '@berth/contract/limits'
import { centsCeil, runwaySeconds } from '@berth/contract/money'
import {
  type CreateVolumeBody,
  createVolume,
  growVolume,
  VOLUME_KINDS,
  type Volume,
  type VolumeKind,
  type VolumePrice,
  volume as volumeEntity,
  volumePrice,
} from '@berth/contract/volumes'
import { and, count, desc, eq, inArray, isNotNull, isNull, sum } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { Catalogue } from '../../platform/config/catalogue.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { notify, type OpenDatabase } from '../../platform/database/open-database.ts'
import type { Events } from '../../platform/events/events.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import { wireOf } from '../../platform/http/wire.ts'
import type { Ids } from '../../platform/ids.ts'
import { createLoop } from '../../platform/loop.ts'
import { earlierResult, keepResult } from '../../platform/once.ts'
import { deletedOn } from '../../platform/unpaid.ts'
import type { Billing } from '../billing/billing.ts'
import { forCustomer } from '../customers/customers.ts'
import type { Fleet } from '../fleet/fleet.ts'
import { accountDeleted } from '../identity/events.ts'
import type { Regions } from '../regions/regions.ts'
import { dropAll, madeOf, SNAPSHOT_CHANNEL } from './snapshots/snapshot-states.ts'
import { createSnapshotWork } from './snapshots/snapshot-work.ts'
import { createSnapshots } from './snapshots/snapshots.ts'
import { volumeSnapshot } from './snapshots/tables.ts'
import { volume } from './tables.ts'
import { createVolumeMeasures } from './volume-measures.ts'
import {
  changeVolume,
  isBilled,
  UNPAID_VOLUMES,
  VOLUME_CHANNEL,
  type VolumeRow,
  volumeSubject,
} from './volume-states.ts'
import { readOnlyOn } from './volume-use.ts'
import { createVolumeWork, type Holder, type WorkDeps } from './volume-work.ts'

export { VOLUME_CHANNEL } from './volume-states.ts'
export type { Holder } from './volume-work.ts'

export type Volumes = ReturnType<typeof createVolumes>

/** All that is due is looked for this often; what is wanted at once wakes the loop. */
const LOOK_MS = 30_000
/** What was asked for at the same time is done in one round. */
const GATHER_MS = 20
const DUE_MS_MIN = 100
const HOURS_PER_DAY = 24n
const DAYS_PER_MONTH = 30n

const volumeOf = wireOf(volumeEntity)
const priceOf = wireOf(volumePrice)

export interface VolumesDeps extends WorkDeps {
  ids: Ids
  log: Logger
  catalogue: Pick<Catalogue, 'regions' | 'prices'>
  regions: Pick<Regions, 'requireOpen'>
  billing: WorkDeps['billing'] & Pick<Billing, 'hold' | 'totals' | 'costMicro'>
  fleet: WorkDeps['fleet'] & Pick<Fleet, 'known' | 'isReached'>
  events: Pick<Events, 'emit' | 'on'>
  /** Tells of changes by other gateways; null where there are none. */
  listen: OpenDatabase['listen'] | null
}

/** Customers' network volumes (R1.2, R3.11): what they ask for, and the loop that makes it so. */
export function createVolumes(deps: VolumesDeps) {
  const { db, clock, ids, billing, fleet, catalogue } = deps
  const microPerGbDayNow = () => catalogue.prices.volume_micro_per_gb_day

  // The account of a customer who has volumes is not deleted: what stays are rows of those that are gone.
  deps.events.on(accountDeleted, 'volumes', async (tx, { userId }) => {
    await tx
      .update(volume)
      .set({ name: '' })
      .where(and(eq(volume.userId, userId), isNotNull(volume.deletedAt)))
  })

  const work = createVolumeWork(deps, () => snapshotWork)
  let dueAt: Date | null = null
  const loop = createLoop({
    name: 'volumes',
    pauseMs: LOOK_MS,
    log: deps.log,
    dueInMs: () => dueAt && Math.max(DUE_MS_MIN, dueAt.getTime() - clock.now().getTime()),
    async run(signal) {
      await work.run(signal)
      dueAt = await work.nextDue()
    },
  })
  const measures = createVolumeMeasures(deps)
  const measureLoop = createLoop({
    name: 'volume-measures',
    pauseMs: LOOK_MS,
    log: deps.log,
    run: measures.run,
  })
  const snapshotWork = createSnapshotWork({ ...deps, volumes: work, wake: () => wakeSnapshots() })
  let snapshotDueAt: Date | null = null
  const snapshotLoop = createLoop({
    name: 'volume-snapshots',
    pauseMs: LOOK_MS,
    log: deps.log,
    dueInMs: () => snapshotDueAt && Math.max(DUE_MS_MIN, snapshotDueAt.getTime() - clock.now().getTime()),
    async run(signal) {
      await snapshotWork.run(signal)
      snapshotDueAt = await snapshotWork.nextDue()
    },
  })
  const unlisten: (() => void)[] = []

  /** One of a customer's volumes that is not gone. @throws ApiError `not_found` (R6.4). */
  async function findOwn(q: Queryable, userId: string, id: string): Promise<VolumeRow> {
    const [row] = await q.select().from(volume).where(isOwn(userId, id))
    if (!row) throw new ApiError('not_found')
    return row
  }

  /** Takes the locks in their order, and gives the row under them. @throws ApiError `not_found`. */
  async function lockOwn(tx: Transaction, userId: string, id: string): Promise<VolumeRow> {
    await forCustomer(tx, userId)
    await billing.lockWallet(tx, userId)
    const [row] = await tx.select().from(volume).where(isOwn(userId, id)).for('update')
    if (!row) throw new ApiError('not_found')
    return row
  }

  /**
   * Why no instance may start with a volume now; null where one may.
   * @param use.instanceId The instance itself does not stand in its own way; null for one that is not there yet.
   * @throws ApiError `not_found`.
   */
  async function obstacle(
    q: Queryable,
    use: { userId: string; id: string; instanceId: string | null },
  ): Promise<{
    code: 'volume_state' | 'volume_in_use' | 'volume_of_objects'
    values: Record<string, string>
  } | null> {
    const row = await findOwn(q, use.userId, use.id)
    if (!isBilled(row.status)) return { code: 'volume_state', values: {} }
    if (kindOf(row) === 'objects') return { code: 'volume_of_objects', values: {} }
    if (fleet.known(row.engineId)?.facts?.volumes?.shared) return null
    const holders = await deps.holders(q, use.userId)
    const other = holders.find(
      ({ volumeId, instanceId, busy }) => volumeId === use.id && busy && instanceId !== use.instanceId,
    )
    return other ? { code: 'volume_in_use', values: { instance: other.name } } : null
  }

  async function toVolumes(userId: string, rows: readonly VolumeRow[]): Promise<Volume[]> {
    if (rows.length === 0) return []
    const volumeIds = rows.map(({ id }) => id)
    const [costs, { currency }, holders, counts] = await Promise.all([
      billing.costMicro(db, 'network_volume', volumeIds),
      billing.totals(db, userId),
      deps.holders(db, userId),
      snapshots.counts(db, volumeIds),
    ])
    return rows.map(row => {
      const facts = fleet.known(row.engineId)?.facts?.volumes
      return volumeOf({
        ...row,
        regionName: nameOf(row.regionCode),
        kind: kindOf(row),
        reason: row.reasonCode === null ? null : { code: row.reasonCode, detail: row.reasonDetail },
        shared: facts?.shared ?? false,
        sizeEnforced: facts?.size_enforced ?? false,
        nearFull: row.nearFullSince !== null,
        readOnlyOn: readOnlyOn(row),
        readOnly: isReadOnlyRow(row),
        attachedTo: holders
          .filter(({ volumeId }) => volumeId === row.id)
          .map(({ instanceId, name, status, path }) => ({ instance_id: instanceId, name, status, path })),
        snapshots: counts.get(row.id) ?? 0,
        currency,
        microPerDay: isBilled(row.status) ? BigInt(row.sizeGb) * row.microPerGbDay : 0n,
        costMicro: costs.get(row.id) ?? 0n,
        deletedOn: deletedOn(row, UNPAID_VOLUMES),
      })
    })
  }

  const one = async (row: VolumeRow): Promise<Volume> => {
    const [made] = await toVolumes(row.userId, [row])
    if (!made) throw new Error('a row gave no volume')
    return made
  }

  const nameOf = (regionCode: string) =>
    catalogue.regions.find(({ code }) => code === regionCode)?.name ?? regionCode

  /**
   * Engines of a region that keep volumes of a kind, whether or not they are reached now. Pods have network volumes: what an
   * engine keeps that makes virtual machines alone is a disk of one of them.
   */
  const keepersIn = (regionCode: string, kind: VolumeKind) =>
    fleet
      .engines()
      .filter(({ facts }) => facts?.region_codes.includes(regionCode) && facts.volumes)
      .filter(({ facts }) =>
        kind === 'objects'
          ? facts?.volumes?.objects
          : !facts?.volumes?.objects && facts?.kinds.includes('POD'),
      )

  const kindOf = ({ engineId }: Pick<VolumeRow, 'engineId'>): VolumeKind =>
    fleet.known(engineId)?.facts?.volumes?.objects ? 'objects' : 'files'

  /**
   * The engine for a new volume: of those that are reached the one with the fewest.
   * @throws ApiError `region_not_supported`, `region_draining`, `volumes_not_offered` or `compute_unavailable`.
   */
  async function placeIn(regionCode: string, kind: VolumeKind): Promise<string> {
    deps.regions.requireOpen(regionCode)
    const keepers = keepersIn(regionCode, kind)
    if (keepers.length === 0) {
      throw new ApiError('volumes_not_offered', { fields: [{ path: 'region_code', rule: 'not_allowed' }] })
    }
    const reached = keepers.filter(({ id }) => fleet.isReached(id))
    const rows = await db
      .select({ engineId: volume.engineId, volumes: count() })
      .from(volume)
      .where(isNull(volume.deletedAt))
      .groupBy(volume.engineId)
    const held = new Map(rows.map(row => [row.engineId, row.volumes]))
    const [best] = reached.sort((a, b) => (held.get(a.id) ?? 0) - (held.get(b.id) ?? 0))
    if (!best) {
      const why = 'no gateway reaches an engine of this region that keeps volumes'
      throw new ApiError('compute_unavailable', { cause: new Error(why) })
    }
    return best.id
  }

  /** A name belongs to one volume of a customer, so that the typed name says which is deleted (R5.7). */
  async function requireFreeName(tx: Transaction, userId: string, name: string): Promise<void> {
    const [taken] = await tx
      .select({ id: volume.id })
      .from(volume)
      .where(and(eq(volume.userId, userId), eq(volume.name, name), isNull(volume.deletedAt)))
    if (taken) throw new ApiError('validation_failed', { fields: [{ path: 'name', rule: 'name_taken' }] })
  }

  /** @param more What is asked for beyond what there is. */
  async function requireRoom(
    tx: Transaction,
    userId: string,
    more: { volumes: number; gb: number },
  ): Promise<void> {
    const [held] = await tx
      .select({ volumes: count(), gb: sum(volume.wantedGb).mapWith(Number) })
      .from(volume)
      .where(and(eq(volume.userId, userId), isNull(volume.deletedAt)))
    const isFull = (held?.volumes ?? 0) + more.volumes > VOLUMES_PER_USER_MAX
    if (isFull || (held?.gb ?? 0) + more.gb > VOLUMES_GB_PER_USER_MAX) {
      const values = { limit: VOLUMES_PER_USER_MAX, gb: VOLUMES_GB_PER_USER_MAX }
      throw new ApiError('volume_limit', { values })
    }
  }

  /**
   * A new volume's row, which has its first day set aside. The caller has the wallet's lock.
   * @throws ApiError `volume_limit`, `insufficient_balance`, or `validation_failed` with `name_taken`.
   */
  async function insertVolume(
    tx: Transaction,
    asked: Pick<VolumeRow, 'userId' | 'name' | 'regionCode' | 'engineId' | 'sizeGb' | 'fromSnapshotId'>,
  ): Promise<VolumeRow> {
    const { userId, name, sizeGb } = asked
    await requireRoom(tx, userId, { volumes: 1, gb: sizeGb })
    await requireFreeName(tx, userId, name)
    const now = clock.now()
    const microPerGbDay = microPerGbDayNow()
    const [row] = await tx
      .insert(volume)
      .values({
        ...asked,
        id: ids.volumeId(),
        wantedGb: sizeGb,
        microPerGbDay,
        status: 'creating',
        statusSince: now,
        nextAttemptAt: now,
        measureDueAt: now,
        createdAt: now,
      })
      .returning()
    if (!row) throw new Error('an insert gave no row')
    const amountMicro = BigInt(sizeGb) * microPerGbDay
    await billing.hold(tx, { userId, subject: volumeSubject(row.id), amountMicro })
    await notify(tx, VOLUME_CHANNEL, row.id)
    return row
  }

  const wakeSnapshots = () => snapshotLoop.wake(GATHER_MS)
  const snapshots = createSnapshots({
    ...{ db, clock, ids, billing, catalogue, findOwn, lockOwn, insertVolume, findEver },
    wake: wakeSnapshots,
  })

  return {
    /** Does all that is due now, as the loop does. */
    run: work.run,

    /** How many of those ids are of volumes or snapshots that this database has, or once had. */
    async countRows(ids: readonly string[]): Promise<number> {
      const counts = await Promise.all(
        [volume, volumeSnapshot].map(table => db.$count(table, inArray(table.id, [...ids]))),
      )
      return counts.reduce((sum, rows) => sum + rows, 0)
    },

    /** What customers ask for of snapshots. */
    snapshots,

    /** Takes, deletes and begins to copy all snapshots of which that is due, as their loop does. */
    runSnapshots: snapshotWork.run,

    /** A volume that was made of a snapshot, as customers see it. */
    toVolume: one,

    /** Measures all volumes of which that is due now, as its loop does. */
    measure: measures.run,

    /** What a volume of a size costs, and where one can be had. @throws ApiError `not_found` for the volume named. */
    async price(userId: string, asked: { sizeGb: number; id: string | undefined }): Promise<VolumePrice> {
      const named = asked.id === undefined ? null : await findOwn(db, userId, asked.id)
      const nowMicroPerDay =
        named && (isBilled(named.status) ? BigInt(named.sizeGb) * named.microPerGbDay : 0n)
      const microPerGbDay = microPerGbDayNow()
      const microPerDay = BigInt(asked.sizeGb) * microPerGbDay
      const { burnMicroPerHour, availableMicro, currency } = await billing.totals(db, userId)
      const more = (microPerDay - (nowMicroPerDay ?? 0n)) / HOURS_PER_DAY
      return priceOf({
        currency,
        sizeGb: asked.sizeGb,
        microPerGbDay,
        microPerDay,
        microPerMonth: microPerDay * DAYS_PER_MONTH,
        nowMicroPerDay,
        reserveCents: centsCeil(microPerDay),
        lastsSeconds: runwaySeconds(availableMicro, burnMicroPerHour + more),
        regions: catalogue.regions
          .filter(({ enabled }) => enabled)
          .flatMap(({ code, name }) => {
            const keepers = keepersIn(code, 'files')
            const kinds = VOLUME_KINDS.filter(kind => keepersIn(code, kind).length > 0)
            if (kinds.length === 0) return []
            return {
              region_code: code,
              region_name: name,
              kinds,
              // What holds wherever in the region it is made.
              shared: keepers.every(({ facts }) => facts?.volumes?.shared),
              size_enforced: keepers.every(({ facts }) => facts?.volumes?.size_enforced),
            }
          }),
      })
    },

    /** A customer's volumes, newest first. */
    async list(userId: string, regionCode?: string): Promise<Volume[]> {
      const rows = await db
        .select()
        .from(volume)
        .where(
          and(
            eq(volume.userId, userId),
            isNull(volume.deletedAt),
            regionCode === undefined ? undefined : eq(volume.regionCode, regionCode),
          ),
        )
        .orderBy(desc(volume.place))
      return toVolumes(userId, rows)
    },

    /**
     * Makes a volume and sets its first day aside; the same key again gives the same volume (B3).
     * @throws ApiError `region_not_supported`, `volumes_not_offered`, `compute_unavailable`, `volume_limit`,
     *   `insufficient_balance`, `validation_failed` with `name_taken`.
     */
    async create(input: { userId: string; idempotencyKey: string; body: CreateVolumeBody }): Promise<Volume> {
      const { userId, body } = input
      const engineId = await placeIn(body.region_code, body.kind)
      const call = { userId, operation: createVolume.operation, key: input.idempotencyKey }
      const made = await db.transaction(async tx => {
        await forCustomer(tx, userId)
        await billing.lockWallet(tx, userId)
        const now = clock.now()
        const earlier = await earlierResult(tx, call, now)
        // It may be gone by now.
        if (earlier !== null) return await findEver(tx, userId, earlier)
        const row = await insertVolume(tx, {
          ...{ userId, name: body.name, regionCode: body.region_code, engineId, sizeGb: body.size_gb },
          fromSnapshotId: null,
        })
        await keepResult(tx, call, row.id)
        return row
      })
      loop.wake(GATHER_MS)
      return one(made)
    },

    /**
     * Renames a volume, in every state.
     * @throws ApiError `not_found`, or `validation_failed` with `name_taken`.
     */
    async rename(userId: string, id: string, name: string): Promise<Volume> {
      const renamed = await db.transaction(async tx => {
        const row = await lockOwn(tx, userId, id)
        if (name === row.name) return row
        await requireFreeName(tx, userId, name)
        const [changed] = await tx.update(volume).set({ name }).where(eq(volume.id, id)).returning()
        return changed ?? row
      })
      return one(renamed)
    },

    /**
     * Makes a volume larger, which costs today's price from when it has grown; the same key again does nothing (B3).
     * @throws ApiError `not_found`, `volume_state`, `volume_limit`, `insufficient_balance`, or `validation_failed` with
     *   `volume_shrink`.
     */
    async grow(
      target: { userId: string; id: string; idempotencyKey: string },
      sizeGb: number,
    ): Promise<Volume> {
      const { userId, id } = target
      const call = { userId, operation: growVolume.operation, key: target.idempotencyKey }
      const changed = await db.transaction(async tx => {
        const row = await lockOwn(tx, userId, id)
        const now = clock.now()
        if ((await earlierResult(tx, call, now)) !== null) return row
        await keepResult(tx, call, id)
        if (sizeGb <= row.wantedGb) {
          throw new ApiError('validation_failed', { fields: [{ path: 'size_gb', rule: 'volume_shrink' }] })
        }
        if (row.status !== 'ready') throw new ApiError('volume_state')
        await requireRoom(tx, userId, { volumes: 0, gb: sizeGb - row.wantedGb })
        const wantedMicroPerGbDay = microPerGbDayNow()
        const amountMicro = BigInt(sizeGb) * wantedMicroPerGbDay
        await billing.hold(tx, { userId, subject: volumeSubject(id), amountMicro })
        const patch = { wantedGb: sizeGb, wantedMicroPerGbDay }
        return await changeVolume(tx, deps, row, { status: 'growing', at: now, patch })
      })
      loop.wake(GATHER_MS)
      return one(changed)
    },

    /**
     * Deletes a volume and all that is in it, with all of its snapshots. It costs nothing from here on, and is listed until its
     * engine has confirmed that nothing is left.
     * @param typedName What the customer typed: its exact name (R5.7).
     * @throws ApiError `not_found`, `volume_name_incorrect`, `volume_attached` {instance}, or `snapshot_in_use` {volume}.
     */
    async remove(userId: string, id: string, typedName: string): Promise<Volume> {
      const removed = await db.transaction(async tx => {
        const row = await lockOwn(tx, userId, id)
        if (typedName !== row.name) throw new ApiError('volume_name_incorrect')
        if (row.status === 'deleting') return row
        const holder = await holderOf(tx, row)
        if (holder) throw new ApiError('volume_attached', { values: { instance: holder.name } })
        const made = await madeOf(tx, { volumeId: id })
        if (made !== null) throw new ApiError('snapshot_in_use', { values: { volume: made } })
        await dropAll(tx, deps, { volumeId: id, at: clock.now() })
        return await changeVolume(tx, deps, row, { status: 'deleting', at: clock.now() })
      })
      loop.wake(GATHER_MS)
      wakeSnapshots()
      return one(removed)
    },

    /**
     * A customer's volume, as a deploy names it: where it is.
     * @param q The transaction that it is asked in, if any: in one, nothing may wait for another connection.
     * @throws ApiError `not_found`.
     */
    find: (
      userId: string,
      id: string,
      q: Queryable = db,
    ): Promise<
      Pick<
        VolumeRow,
        | 'engineId'
        | 'regionCode'
        | 'name'
        | 'unpaidSince'
        | 'readOnlySince'
        | 'status'
        | 'sizeGb'
        | 'usedBytes'
        | 'measuredAt'
        | 'createdAt'
      >
    > => findOwn(q, userId, id),

    obstacle,

    /**
     * A volume that is there for an instance that is to have it. Call it under the wallet's lock.
     * @throws ApiError `not_found`, or `volume_state` for one that is not ready.
     */
    async requireReady(
      tx: Transaction,
      userId: string,
      id: string,
    ): Promise<Pick<VolumeRow, 'engineId' | 'regionCode' | 'name'>> {
      const row = await findOwn(tx, userId, id)
      if (!isBilled(row.status)) throw new ApiError('volume_state')
      return row
    },

    /**
     * Refuses a volume that no instance may start with now. Call it under the wallet's lock, under which all that has to
     * do with volumes changes, in the transaction that attaches it or starts its instance.
     * @param use.instanceId The instance itself does not stand in its own way.
     * @throws ApiError `not_found`, `volume_state`, `volume_of_objects` or `volume_in_use` {instance}.
     */
    async requireUsable(
      tx: Transaction,
      use: { userId: string; id: string; instanceId: string },
    ): Promise<void> {
      const found = await obstacle(tx, use)
      if (found) throw new ApiError(found.code, { values: found.values })
    },

    /**
     * Whether machines that start have a volume to read alone: nothing is left to pay for it (B4), or it was over its size for
     * too long.
     */
    async isReadOnly(id: string): Promise<boolean> {
      const [row] = await db.select().from(volume).where(eq(volume.id, id))
      return row !== undefined && isReadOnlyRow(row)
    },

    /** Whether what a volume holds may be read and written now: it is there, and nothing takes it away. */
    isServable: ({ status }: Pick<VolumeRow, 'status'>): boolean => isBilled(status),

    /** Volumes that may be read and written now, on engines that this gateway looks after. */
    async servedHere(): Promise<Pick<VolumeRow, 'id' | 'engineId' | 'status'>[]> {
      const engineIds = fleet.engines().flatMap(({ id }) => (fleet.serves(id) ? [id] : []))
      const isOne = and(inArray(volume.engineId, engineIds), isNull(volume.deletedAt))
      const rows = engineIds.length === 0 ? [] : await db.select().from(volume).where(isOne)
      return rows.filter(({ status }) => isBilled(status))
    },

    /** Which of some volumes are gone, by their ids. */
    async goneAmong(volumeIds: readonly string[]): Promise<string[]> {
      if (volumeIds.length === 0) return []
      const rows = await db
        .select({ id: volume.id })
        .from(volume)
        .where(and(inArray(volume.id, [...volumeIds]), isNotNull(volume.deletedAt)))
      return rows.map(({ id }) => id)
    },

    /** How many volumes a customer has that are not gone. */
    async countLive(tx: Queryable, userId: string): Promise<number> {
      const [row] = await tx
        .select({ volumes: count() })
        .from(volume)
        .where(and(eq(volume.userId, userId), isNull(volume.deletedAt)))
      return row?.volumes ?? 0
    },

    /** Notes which of a customer's volumes nothing is left to pay for, and says until when they are kept (B4). */
    noteEmptyBalance: (userId: string): Promise<void> => work.noteEmptyBalance(userId),

    async start(): Promise<void> {
      const wake = () => loop.wake(GATHER_MS)
      if (deps.listen) {
        unlisten.push(await deps.listen(VOLUME_CHANNEL, wake, wake))
        unlisten.push(await deps.listen(SNAPSHOT_CHANNEL, wakeSnapshots, wakeSnapshots))
      }
      loop.start()
      loop.wake()
      measureLoop.start()
      snapshotLoop.start()
      snapshotLoop.wake()
    },
    async stop(): Promise<void> {
      for (const end of unlisten) end()
      await Promise.all([loop.stop(), measureLoop.stop(), snapshotLoop.stop()])
      await snapshotWork.close()
    },
  }

  async function holderOf(tx: Transaction, { userId, id }: VolumeRow): Promise<Holder | null> {
    return (await deps.holders(tx, userId)).find(({ volumeId }) => volumeId === id) ?? null
  }
}

const isReadOnlyRow = ({ unpaidSince, readOnlySince }: VolumeRow) =>
  unpaidSince !== null || readOnlySince !== null

async function findEver(tx: Transaction, userId: string, id: string): Promise<VolumeRow> {
  const [row] = await tx
    .select()
    .from(volume)
    .where(and(eq(volume.userId, userId), eq(volume.id, id)))
  if (!row) throw new Error(`volume ${id} is gone`)
  return row
}

function isOwn(userId: string, id: string) {
  return and(eq(volume.userId, userId), eq(volume.id, id), isNull(volume.deletedAt))
}
