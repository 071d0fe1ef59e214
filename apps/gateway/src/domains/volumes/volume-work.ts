import type { InstanceStatus } from '@berth/contract/instance-states'
import { and, eq, inArray, isNotNull, isNull, lt, lte, min, notInArray, or, type SQL, sql } from 'drizzle-orm'
import type { Logger } from 'pino'
import { answerInTime } from '../../drivers/compute/port/answer-in-time.ts'
import { ComputeError } from '../../drivers/compute/port/compute-error.ts'
import type { Engine } from '../../drivers/compute/port/engine.ts'
import { lackOf, offered } from '../../drivers/compute/port/part.ts'
import type { VolumeStore } from '../../drivers/compute/port/volumes.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Catalogue } from '../../platform/config/catalogue.ts'
import type { Database, Queryable, Transaction } from '../../platform/database/database.ts'
import { unpaidStep } from '../../platform/unpaid.ts'
import type { Billing, Subject } from '../billing/billing.ts'
import type { Fleet } from '../fleet/fleet.ts'
import { dropAll, madeOf } from './snapshots/snapshot-states.ts'
import { volumesOf } from './snapshots/snapshots.ts'
import { volumeSnapshot } from './snapshots/tables.ts'
import { volume } from './tables.ts'
import {
  type ChangeDeps,
  changeVolume,
  isBilled,
  tell,
  UNPAID_VOLUMES,
  type VolumeChange,
  type VolumeRow,
} from './volume-states.ts'

/** A call to an engine has this long. */
const ENGINE_MS = 60_000
/** Tries of making or growing one before it is given up, and the pauses between tries. */
const ATTEMPTS_MAX = 5
const BACKOFF_MS = [1_000, 3_000, 10_000, 30_000, 60_000] as const
/** How long nobody may have seen a volume before it costs nothing from when it was last seen. */
const UNSEEN_MS = 600_000
/** Rows that one round works on; what is left comes in the next. */
const ROUND_ROWS_MAX = 100
const DETAIL_CHARS_MAX = 300

/** An instance that has a volume. */
export interface Holder {
  volumeId: string
  instanceId: string
  name: string
  status: InstanceStatus
  path: string
  /** Whether it runs, may run or is to run. */
  busy: boolean
}

export interface WorkDeps {
  db: Database
  clock: Clock
  log: Pick<Logger, 'warn' | 'error'>
  catalogue: Pick<Catalogue, 'prices'>
  billing: ChangeDeps['billing'] & Pick<Billing, 'lockWallet' | 'exhaustedSubjects'>
  fleet: Pick<Fleet, 'engine' | 'engines' | 'serves' | 'servedElsewhere' | 'isPaired'>
  events: ChangeDeps['events']
  /** Instances of a customer that are not gone and have a volume, the oldest first; it comes from the instances domain. */
  holders(q: Queryable, userId: string): Promise<Holder[]>
  /** Volumes on an engine that are disks of instances, which look after them; it comes from the instances domain. */
  ownedByInstances(q: Queryable, engineId: string): Promise<string[]>
}

/** What snapshots of volumes are looked at with, beside the volumes of their engine. */
export interface SnapshotSight {
  compare(
    engineId: string,
    look: () => Promise<Set<string>>,
  ): Promise<{ there: Set<string>; known: string[] }>
  loseUnseen(since: Date): Promise<void>
}

/** What is done with volumes by itself: made, grown and deleted on their engines, compared with what is there, paid for. */
export function createVolumeWork(deps: WorkDeps, snapshots: () => SnapshotSight) {
  const { db, clock, log, billing, fleet } = deps
  const changing: ChangeDeps = deps

  /** Rows of engines that this gateway looks after, and of those that nobody does. */
  function notElsewhere(): SQL | undefined {
    const elsewhere = fleet.servedElsewhere()
    return elsewhere.length === 0 ? undefined : notInArray(volume.engineId, elsewhere)
  }

  /** Runs a change under both locks, if the row is as it was when the change was decided on. */
  async function withLocks<T>(
    row: Pick<VolumeRow, 'id' | 'userId' | 'version'>,
    run: (tx: Transaction, row: VolumeRow) => Promise<T>,
  ): Promise<T | null> {
    return db.transaction(async tx => {
      await billing.lockWallet(tx, row.userId)
      const [fresh] = await tx
        .select()
        .from(volume)
        .where(and(eq(volume.id, row.id), eq(volume.version, row.version), isNull(volume.deletedAt)))
        .for('update')
      return fresh ? run(tx, fresh) : null
    })
  }

  const change = (row: VolumeRow, as: (fresh: VolumeRow, at: Date) => VolumeChange) =>
    withLocks(row, (tx, fresh) => changeVolume(tx, changing, fresh, as(fresh, clock.now())))

  /** The store of a volume's engine. @throws ComputeError where this gateway does not reach it. */
  function storeOf({ engineId }: VolumeRow): VolumeStore {
    const engine = fleet.engine(engineId)
    if (!engine) throw new ComputeError('engine_unavailable', 'no gateway reaches the engine that it is on')
    return offered(engine.volumes)
  }

  /** What is under way for a volume, done on its engine. Each part of it may be done twice. */
  async function step(row: VolumeRow): Promise<void> {
    const store = storeOf(row)
    const { id } = row
    switch (row.status) {
      case 'creating':
        await inTime(store.make({ id, tenant: row.userId, size_gb: row.wantedGb }))
        await noteMade(row)
        return
      case 'growing': {
        await inTime(store.grow({ id, size_gb: row.wantedGb }))
        // What was told when it was asked for; rows of a version before do not know it.
        const now = deps.catalogue.prices.volume_micro_per_gb_day
        await change(row, ({ wantedGb, wantedMicroPerGbDay }, at) => ({
          status: 'ready',
          at,
          patch: { sizeGb: wantedGb, microPerGbDay: wantedMicroPerGbDay ?? now, observedAt: at },
        }))
        return
      }
      case 'deleting':
        await inTime(store.delete(id))
        await change(row, ({ reasonCode, reasonDetail }, at) => ({
          status: 'deleting',
          at,
          patch: { deletedAt: at },
          ...(reasonCode && { reason: { code: reasonCode, detail: reasonDetail } }),
        }))
    }
  }

  /** Its engine has made it. */
  async function noteMade(row: VolumeRow): Promise<void> {
    await change(row, (_, at) => ({ status: 'ready', at, patch: { observedAt: at } }))
  }

  /** Making and growing are given up after some tries; what is to be gone is tried for ever. */
  async function noteFailure(row: VolumeRow, error: unknown): Promise<void> {
    const detail = (error instanceof Error ? error.message : String(error)).slice(0, DETAIL_CHARS_MAX)
    const attempts = row.attempts + 1
    const about = { err: error, volume: row.id, engine: row.engineId, status: row.status }
    log.warn(about, 'something could not be done with a volume')
    if (attempts >= ATTEMPTS_MAX && row.status === 'creating') {
      const reason = { code: 'make_failed', detail } as const
      await change(row, (_, at) => ({ status: 'error', at, reason, news: 'make_failed' }))
      return
    }
    if (attempts >= ATTEMPTS_MAX && row.status === 'growing') {
      const reason = { code: 'grow_failed', detail } as const
      await change(row, ({ sizeGb }, at) => ({
        status: 'ready',
        at,
        reason,
        news: 'grow_failed',
        patch: { wantedGb: sizeGb },
      }))
      return
    }
    const pauseMs = BACKOFF_MS[Math.min(row.attempts, BACKOFF_MS.length - 1)] ?? 0
    await db
      .update(volume)
      .set({ attempts, nextAttemptAt: new Date(clock.now().getTime() + pauseMs) })
      .where(and(eq(volume.id, row.id), eq(volume.version, row.version)))
  }

  async function doSteps(signal: AbortSignal): Promise<void> {
    const rows = await db
      .select()
      .from(volume)
      .where(and(isUnderWay, lte(volume.nextAttemptAt, clock.now()), notElsewhere()))
      .orderBy(volume.nextAttemptAt)
      .limit(ROUND_ROWS_MAX)
    for (const row of rows) {
      if (signal.aborted) return
      try {
        await step(row)
      } catch (error) {
        await noteFailure(row, error)
      }
    }
  }

  /** Compares an engine with the rows: what has no row is removed, what a row misses costs nothing, what is back is. */
  async function sweep(engine: Engine): Promise<void> {
    const store = offered(engine.volumes)
    // Rows before: what is made between the two looks is not missed. Rows after: nor is it taken for nobody's.
    const before = await rowsOn(engine.id)
    const at = clock.now()
    const list = async () => new Set(await inTime(store.list()))
    const { there, known: ofSnapshots } = await snapshots().compare(engine.id, list)
    const known = new Set([
      ...ofSnapshots,
      ...(await rowsOn(engine.id)).map(({ id }) => id),
      ...(await deps.ownedByInstances(db, engine.id)),
    ])
    const seen = before.filter(({ id, status }) => isBilled(status) && there.has(id)).map(({ id }) => id)
    if (seen.length > 0) {
      // Of two looks at once the later one counts, whichever is written first.
      await db
        .update(volume)
        .set({ observedAt: at })
        .where(and(inArray(volume.id, seen), or(isNull(volume.observedAt), lt(volume.observedAt, at))))
    }
    for (const row of before) {
      if (isBilled(row.status) && !there.has(row.id)) await lose(row, 'missing')
      if (row.status === 'error' && row.observedAt !== null && there.has(row.id)) await find(row)
    }
    if (!(await fleet.isPaired(engine.id))) return
    for (const id of there) {
      if (known.has(id)) continue
      try {
        await inTime(store.delete(id))
        log.warn({ volume: id, engine: engine.id }, 'removed a volume that belongs to no customer')
      } catch (error) {
        log.warn({ err: error, volume: id }, 'a volume that belongs to no customer could not be removed')
      }
    }
  }

  const rowsOn = (engineId: string) =>
    db
      .select()
      .from(volume)
      .where(and(eq(volume.engineId, engineId), isNull(volume.deletedAt)))

  async function lose(row: VolumeRow, code: 'missing' | 'engine_away'): Promise<void> {
    log.error({ volume: row.id, engine: row.engineId, code }, 'a volume is not there')
    await change(row, (fresh, at) => ({
      status: 'error',
      at,
      reason: { code, detail: '' },
      billedUntil: fresh.observedAt ?? at,
      // An engine that is away is told on its instances.
      ...(code === 'missing' && { news: code }),
      patch: { wantedGb: fresh.sizeGb },
    }))
  }

  const find = (row: VolumeRow) =>
    change(row, (_, at) => ({ status: 'ready', at, patch: { observedAt: at } }))

  async function sweepAll(signal: AbortSignal): Promise<void> {
    // By the clock before the looks: where it leaps meanwhile, as a computer's that slept, what was just seen was seen.
    const unseenSince = new Date(clock.now().getTime() - UNSEEN_MS)
    for (const { id } of fleet.engines()) {
      const engine = fleet.serves(id) ? fleet.engine(id) : null
      if (signal.aborted) return
      if (!engine || lackOf(engine.volumes) !== null) continue
      try {
        await sweep(engine)
      } catch (error) {
        log.warn({ err: error, engine: id }, 'the volumes of an engine could not be looked at')
      }
    }
    const unseen = await db
      .select()
      .from(volume)
      .where(
        and(
          inArray(volume.status, ['ready', 'growing']),
          isNull(volume.deletedAt),
          lt(volume.observedAt, unseenSince),
          notElsewhere(),
        ),
      )
    for (const row of unseen) await lose(row, 'engine_away')
    await snapshots().loseUnseen(unseenSince)
  }

  /** What follows from money that is missing, or has come. */
  async function settleUnpaid(signal: AbortSignal): Promise<void> {
    const rows = await db
      .select()
      .from(volume)
      .where(and(isNotNull(volume.unpaidSince), isNull(volume.deletedAt), notElsewhere()))
    for (const row of rows) {
      if (signal.aborted) return
      await withLocks(row, async (tx, fresh) => {
        const unpaid = await billing.exhaustedSubjects(tx, fresh.userId)
        const isUnpaid = (await volumesAmong(tx, unpaid)).includes(fresh.id)
        const at = clock.now()
        const step = unpaidStep(fresh, UNPAID_VOLUMES, { now: at, isUnpaid })
        if (step === 'none') return
        if (step === 'paid') return await note(tx, fresh, { unpaidSince: null, unpaidNoticeDay: null })
        if (step === 'delete') {
          const holders = await deps.holders(tx, fresh.userId)
          // An instance keeps it until it is gone itself.
          if (holders.some(({ volumeId }) => volumeId === fresh.id)) return
          // So does a volume that is being made of a snapshot of it.
          if ((await madeOf(tx, { volumeId: fresh.id })) !== null) return
          await dropAll(tx, deps, { volumeId: fresh.id, at })
          const reason = { code: 'unpaid', detail: '' } as const
          await changeVolume(tx, changing, fresh, { status: 'deleting', at, reason, news: 'deleted_unpaid' })
          return
        }
        await note(tx, fresh, { unpaidNoticeDay: step.tellDay })
        await tell(tx, changing, fresh, { news: 'unpaid_soon', at })
      })
    }
  }

  return {
    noteMade,
    noteFailure,

    /**
     * Does all that is due. Any number of gateways may do so at once: each change is decided again under the locks.
     * @param signal Ends it between two volumes.
     */
    async run(signal: AbortSignal): Promise<void> {
      await doSteps(signal)
      await sweepAll(signal)
      await settleUnpaid(signal)
    },

    /** When the next try of something comes; null where nothing is under way. */
    async nextDue(): Promise<Date | null> {
      const first = db
        .select({ at: min(volume.nextAttemptAt).mapWith(volume.nextAttemptAt) })
        .from(volume)
        .where(and(isUnderWay, notElsewhere()))
      const [row] = await first
      return row?.at ?? null
    },

    async noteEmptyBalance(userId: string): Promise<void> {
      const isPaid = and(
        eq(volume.userId, userId),
        or(inArray(volume.status, ['ready', 'growing']), and(eq(volume.status, 'error'), hasSnapshots)),
        isNull(volume.unpaidSince),
        isNull(volume.deletedAt),
      )
      // Asked at each round of metering: the locks are for those who have something to lose.
      const [any] = await db.select({ id: volume.id }).from(volume).where(isPaid).limit(1)
      if (!any) return
      await db.transaction(async tx => {
        await billing.lockWallet(tx, userId)
        const unpaid = await volumesAmong(tx, await billing.exhaustedSubjects(tx, userId))
        if (unpaid.length === 0) return
        const at = clock.now()
        const rows = await tx
          .update(volume)
          .set({ unpaidSince: at, version: sql`${volume.version} + 1` })
          .where(and(isPaid, inArray(volume.id, unpaid)))
          .returning()
        for (const row of rows) await tell(tx, changing, row, { news: 'unpaid', at })
      })
    },
  }
}

/** Something is to be done with it on its engine; one that is made of a snapshot is so by those who copy. */
const isUnderWay = and(
  or(
    inArray(volume.status, ['growing', 'deleting']),
    and(eq(volume.status, 'creating'), isNull(volume.fromSnapshotId)),
  ),
  isNull(volume.deletedAt),
)

/** What it was may be had by them though it is lost itself. */
const hasSnapshots = sql`exists (select 1 from ${volumeSnapshot}
  where ${volumeSnapshot.volumeId} = ${volume.id} and ${volumeSnapshot.status} = 'ready')`

/** Volumes among what costs something, and those of which snapshots do. */
async function volumesAmong(q: Queryable, subjects: readonly Subject[]): Promise<string[]> {
  const ids = (wanted: Subject['kind']) => subjects.flatMap(({ kind, id }) => (kind === wanted ? id : []))
  return [...ids('network_volume'), ...(await volumesOf(q, ids('volume_snapshot')))]
}

async function note(
  tx: Transaction,
  { id }: VolumeRow,
  patch: Partial<Pick<VolumeRow, 'unpaidSince' | 'unpaidNoticeDay'>>,
): Promise<void> {
  await tx
    .update(volume)
    .set({ ...patch, version: sql`${volume.version} + 1` })
    .where(eq(volume.id, id))
}

const inTime = <T>(asking: Promise<T>): Promise<T> => answerInTime(asking, ENGINE_MS)
