import type { SnapshotSkip } from '@berth/contract/volume-snapshots'
import {
  and,
  eq,
  inArray,
  isNotNull,
  isNull,
  lt,
  lte,
  min,
  ne,
  notInArray,
  or,
  type SQL,
  sql,
} from 'drizzle-orm'
import { answerInTime } from '../../../drivers/compute/port/answer-in-time.ts'
import { ComputeError } from '../../../drivers/compute/port/compute-error.ts'
import { offered } from '../../../drivers/compute/port/part.ts'
import type { VolumeStore } from '../../../drivers/compute/port/volumes.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { volume } from '../tables.ts'
import type { VolumeRow } from '../volume-states.ts'
import type { createVolumeWork, WorkDeps } from '../volume-work.ts'
import { createCopies } from './copies.ts'
import { endFault, SKIP_NEWS, tellFault } from './schedule-faults.ts'
import { slotAfter, slotBefore, surplusOf } from './schedule-rules.ts'
import {
  changeSnapshot,
  gbOf,
  liveOf,
  madeOf,
  type SnapshotChange,
  type SnapshotRow,
} from './snapshot-states.ts'
import { snapshotSchedule, volumeSnapshot } from './tables.ts'
import { isTaking, type TakeDeps, takeSnapshot } from './take-snapshot.ts'

/** A call to an engine that makes no copy has this long. */
const ENGINE_MS = 60_000
/** Tries of making one before it is given up, and the pauses between tries. */
const ATTEMPTS_MAX = 4
const BACKOFF_MS = [1_000, 10_000, 60_000, 300_000] as const
/** Rows that one part of a round works on; what is left comes in the next. */
const ROUND_ROWS_MAX = 100
const DETAIL_CHARS_MAX = 300
const BYTES_PER_GB = 1024 ** 3

export interface SnapshotWorkDeps extends WorkDeps, TakeDeps {
  billing: WorkDeps['billing'] & TakeDeps['billing']
  catalogue: WorkDeps['catalogue'] & TakeDeps['catalogue']
  log: WorkDeps['log']
  /** What notes how making a volume ended. */
  volumes: Pick<ReturnType<typeof createVolumeWork>, 'noteMade' | 'noteFailure'>
  /** There is something to do again. */
  wake(): void
}

/** What is done with snapshots by itself: taken when it is time, copied, made into volumes, deleted when they are too many. */
export function createSnapshotWork(deps: SnapshotWorkDeps) {
  const { db, clock, log, billing, fleet, wake } = deps
  const copies = createCopies({ log })

  /** Rows of engines that this gateway looks after, and of those that nobody does. */
  function notElsewhere(engineId: typeof volume.engineId | typeof volumeSnapshot.engineId): SQL | undefined {
    const elsewhere = fleet.servedElsewhere()
    return elsewhere.length === 0 ? undefined : notInArray(engineId, elsewhere)
  }

  /**
   * Runs a change under both locks, if the row is as it was when the change was decided on; one that ends what a schedule has
   * begun says whether that works.
   */
  async function change(row: SnapshotRow, as: (at: Date) => SnapshotChange): Promise<SnapshotRow | null> {
    return db.transaction(async tx => {
      await billing.lockWallet(tx, row.userId)
      const [fresh] = await tx
        .select()
        .from(volumeSnapshot)
        .where(
          and(
            eq(volumeSnapshot.id, row.id),
            eq(volumeSnapshot.version, row.version),
            isNull(volumeSnapshot.deletedAt),
          ),
        )
        .for('update')
      if (!fresh) return null
      const wanted = as(clock.now())
      const isEnd = fresh.madeBy === 'schedule' && fresh.status === 'making'
      if (isEnd && wanted.status === 'ready') await endFault(tx, row.volumeId)
      if (isEnd && wanted.status === 'failed') {
        const { at, reason } = wanted
        await tellFault(tx, deps, row.volumeId, { news: 'snapshot_failed', at, detail: reason?.detail ?? '' })
      }
      return changeSnapshot(tx, deps, fresh, wanted)
    })
  }

  /** @throws ComputeError where this gateway does not reach the engine. */
  function storeOf({ engineId }: { engineId: string }): VolumeStore {
    const engine = fleet.engine(engineId)
    if (!engine) throw new ComputeError('engine_unavailable', 'no gateway reaches the engine that it is on')
    return offered(engine.volumes)
  }

  async function noteFailure(row: SnapshotRow, error: unknown): Promise<void> {
    const detail = (error instanceof Error ? error.message : String(error)).slice(0, DETAIL_CHARS_MAX)
    const attempts = row.attempts + 1
    log.warn(
      { err: error, snapshot: row.id, status: row.status },
      'something could not be done with a snapshot',
    )
    const isFinal = error instanceof ComputeError && error.code === 'unsupported'
    if (row.status === 'making' && (isFinal || attempts >= ATTEMPTS_MAX)) {
      await change(row, at => ({ status: 'failed', at, reason: { code: 'make_failed', detail } }))
      return
    }
    const pauseMs = BACKOFF_MS[Math.min(row.attempts, BACKOFF_MS.length - 1)] ?? 0
    await db
      .update(volumeSnapshot)
      .set({ attempts, nextAttemptAt: new Date(clock.now().getTime() + pauseMs) })
      .where(and(eq(volumeSnapshot.id, row.id), eq(volumeSnapshot.version, row.version)))
  }

  /** Takes the snapshot that a schedule has due, once, however many gateways look; of several that were missed the last. */
  async function takeDue(): Promise<void> {
    const due = await db
      .select({ volumeId: snapshotSchedule.volumeId, userId: snapshotSchedule.userId })
      .from(snapshotSchedule)
      .where(lte(snapshotSchedule.nextAt, clock.now()))
      .orderBy(snapshotSchedule.nextAt)
      .limit(ROUND_ROWS_MAX)
    for (const { volumeId, userId } of due) {
      try {
        await takeOf(volumeId, userId)
      } catch (error) {
        log.error({ err: error, volume: volumeId }, 'whether a snapshot is due could not be decided')
      }
    }
  }

  async function takeOf(volumeId: string, userId: string): Promise<void> {
    await db.transaction(async tx => {
      await billing.lockWallet(tx, userId)
      const now = clock.now()
      const [schedule] = await tx
        .select()
        .from(snapshotSchedule)
        .where(and(eq(snapshotSchedule.volumeId, volumeId), lte(snapshotSchedule.nextAt, now)))
        .for('update')
      const slotAt = schedule && slotBefore(schedule, now)
      if (!slotAt) return
      const skipped = await takeOrSkip(tx, volumeId, slotAt)
      await tx
        .update(snapshotSchedule)
        .set({ nextAt: slotAfter(schedule, now), skipped, skippedAt: skipped && now })
        .where(eq(snapshotSchedule.volumeId, volumeId))
      if (skipped) await tellFault(tx, deps, volumeId, { news: SKIP_NEWS[skipped], at: now })
    })
  }

  async function takeOrSkip(tx: Transaction, volumeId: string, slotAt: Date): Promise<SnapshotSkip | null> {
    const [row] = await tx
      .select()
      .from(volume)
      .where(and(eq(volume.id, volumeId), isNull(volume.deletedAt)))
    if (!row) return 'volume_state'
    if (await isTaking(tx, volumeId)) return 'busy'
    try {
      await takeSnapshot(tx, deps, { volume: row, slotAt })
      return null
    } catch (error) {
      const isRefused = error instanceof ApiError
      if (isRefused && (error.code === 'volume_state' || error.code === 'insufficient_balance'))
        return error.code
      throw error
    }
  }

  /** Deletes what a schedule has too many of. */
  async function prune(): Promise<void> {
    const { keep } = snapshotSchedule
    const many = await db
      .select({ volumeId: snapshotSchedule.volumeId, userId: snapshotSchedule.userId })
      .from(snapshotSchedule)
      .innerJoin(volumeSnapshot, eq(volumeSnapshot.volumeId, snapshotSchedule.volumeId))
      .where(
        and(
          ne(snapshotSchedule.every, 'off'),
          eq(volumeSnapshot.madeBy, 'schedule'),
          ne(volumeSnapshot.status, 'deleting'),
          isNull(volumeSnapshot.deletedAt),
          notElsewhere(volumeSnapshot.engineId),
        ),
      )
      .groupBy(snapshotSchedule.volumeId, snapshotSchedule.userId, keep)
      .having(sql`count(*) > ${keep} or bool_or(${volumeSnapshot.status} = 'failed')`)
    for (const { volumeId, userId } of many) {
      try {
        await pruneOf(volumeId, userId)
      } catch (error) {
        log.error({ err: error, volume: volumeId }, 'snapshots that are too many could not be deleted')
      }
    }
  }

  async function pruneOf(volumeId: string, userId: string): Promise<void> {
    await db.transaction(async tx => {
      await billing.lockWallet(tx, userId)
      const [schedule] = await tx
        .select()
        .from(snapshotSchedule)
        .where(and(eq(snapshotSchedule.volumeId, volumeId), ne(snapshotSchedule.every, 'off')))
      const rows = await tx.select().from(volumeSnapshot).where(liveOf(volumeId)).for('update')
      for (const row of schedule ? surplusOf(rows, schedule.keep) : []) {
        // One that a volume is being made of goes when that is done.
        if ((await madeOf(tx, { volumeId, id: row.id })) !== null) continue
        await changeSnapshot(tx, deps, row, { status: 'deleting', at: clock.now() })
      }
    })
  }

  async function deleteDue(signal: AbortSignal): Promise<void> {
    const rows = await db
      .select()
      .from(volumeSnapshot)
      .where(
        and(
          isDue('deleting'),
          lte(volumeSnapshot.nextAttemptAt, clock.now()),
          notElsewhere(volumeSnapshot.engineId),
        ),
      )
      .orderBy(volumeSnapshot.nextAttemptAt)
      .limit(ROUND_ROWS_MAX)
    for (const row of rows) {
      if (signal.aborted) return
      try {
        await copies.end(row.id)
        await answerInTime(storeOf(row).delete(row.id), ENGINE_MS)
        await change(row, at => ({ status: 'deleting', at, patch: { deletedAt: at } }))
      } catch (error) {
        await noteFailure(row, error)
      }
    }
  }

  /** Gives up copies that nobody wants any more: what they make is to be deleted, or its volume is. */
  async function endUnwanted(): Promise<void> {
    const ids = copies.ids()
    if (ids.length === 0) return
    const [snapshots, volumes] = await Promise.all([
      db
        .select({ id: volumeSnapshot.id })
        .from(volumeSnapshot)
        .where(and(isDue('making'), inArray(volumeSnapshot.id, ids))),
      db
        .select({ id: volume.id })
        .from(volume)
        .where(and(isRestoring, inArray(volume.id, ids))),
    ])
    const wanted = new Set([...snapshots, ...volumes].map(({ id }) => id))
    await Promise.all(ids.filter(id => !wanted.has(id)).map(id => copies.end(id)))
  }

  async function beginCopies(): Promise<void> {
    const now = clock.now()
    const making = await db
      .select()
      .from(volumeSnapshot)
      .where(
        and(isDue('making'), lte(volumeSnapshot.nextAttemptAt, now), notElsewhere(volumeSnapshot.engineId)),
      )
      .orderBy(volumeSnapshot.nextAttemptAt)
      .limit(ROUND_ROWS_MAX)
    const restoring = await db
      .select()
      .from(volume)
      .where(and(isRestoring, lte(volume.nextAttemptAt, now), notElsewhere(volume.engineId)))
      .orderBy(volume.nextAttemptAt)
      .limit(ROUND_ROWS_MAX)
    // Somebody waits for a volume.
    for (const row of restoring) {
      if (isFree(row)) copies.begin(row, (signal, isOver) => restore(row, signal, isOver).finally(wake))
    }
    for (const row of making) {
      if (isFree(row)) copies.begin(row, (signal, isOver) => make(row, signal, isOver).finally(wake))
    }
  }

  const isFree = ({ id, engineId }: { id: string; engineId: string }) =>
    !copies.has(id) && copies.hasRoom(engineId)

  async function make(row: SnapshotRow, signal: AbortSignal, isOver: () => boolean): Promise<void> {
    try {
      const takenAt = clock.now()
      const holders = await deps.holders(db, row.userId)
      const inUse = holders.some(({ volumeId, busy }) => volumeId === row.volumeId && busy)
      const order = { from: row.volumeId, id: row.id, bytes_max: row.gbMax * BYTES_PER_GB }
      const { used_bytes: usedBytes } = await offered(storeOf(row).copies).copy(order, signal)
      await change(row, at => ({
        status: 'ready',
        at,
        patch: { takenAt, inUse, usedBytes, sizeGb: gbOf(usedBytes), observedAt: at },
      }))
    } catch (error) {
      if (!isOver()) await noteFailure(row, error)
    }
  }

  async function restore(row: VolumeRow, signal: AbortSignal, isOver: () => boolean): Promise<void> {
    try {
      const from = row.fromSnapshotId ?? ''
      // What it was made of fits, as was looked at when it was asked for.
      const order = { from, id: row.id, bytes_max: Number.MAX_SAFE_INTEGER }
      await offered(storeOf(row).copies).copy(order, signal)
      await deps.volumes.noteMade(row)
    } catch (error) {
      if (!isOver()) await deps.volumes.noteFailure(row, error)
    }
  }

  const readyOn = (engineId: string) =>
    db
      .select()
      .from(volumeSnapshot)
      .where(and(eq(volumeSnapshot.engineId, engineId), isNull(volumeSnapshot.deletedAt)))

  async function lose(row: SnapshotRow, code: 'missing' | 'engine_away'): Promise<void> {
    log.error({ snapshot: row.id, engine: row.engineId, code }, 'a snapshot is not there')
    await change(row, at => ({
      status: 'failed',
      at,
      reason: { code, detail: '' },
      billedUntil: row.observedAt ?? at,
    }))
  }

  return {
    /**
     * Does all that is due, and begins copies that are, which are not waited for. Any number of gateways may do so at once: each
     * change is decided again under the locks.
     * @param signal Ends it between two snapshots.
     */
    async run(signal: AbortSignal): Promise<void> {
      await takeDue()
      await prune()
      await endUnwanted()
      await deleteDue(signal)
      if (!signal.aborted) await beginCopies()
    },

    /** Ends all copies under way; the rows stay as they are. */
    close: copies.endAll,

    /** When something is due next; null where nothing is. */
    async nextDue(): Promise<Date | null> {
      const busy = copies.ids()
      const [[rows], [volumes], [schedules]] = await Promise.all([
        db
          .select({ at: min(volumeSnapshot.nextAttemptAt).mapWith(volumeSnapshot.nextAttemptAt) })
          .from(volumeSnapshot)
          .where(
            and(
              or(isDue('making'), isDue('deleting')),
              notElsewhere(volumeSnapshot.engineId),
              busy.length === 0 ? undefined : notInArray(volumeSnapshot.id, busy),
            ),
          ),
        db
          .select({ at: min(volume.nextAttemptAt).mapWith(volume.nextAttemptAt) })
          .from(volume)
          .where(
            and(
              isRestoring,
              notElsewhere(volume.engineId),
              busy.length === 0 ? undefined : notInArray(volume.id, busy),
            ),
          ),
        db
          .select({ at: min(snapshotSchedule.nextAt).mapWith(snapshotSchedule.nextAt) })
          .from(snapshotSchedule)
          .where(isNotNull(snapshotSchedule.nextAt)),
      ])
      const all = [rows?.at, volumes?.at, schedules?.at].filter(at => at instanceof Date)
      return all.length === 0 ? null : new Date(Math.min(...all.map(at => at.getTime())))
    },

    /**
     * Looks at an engine's snapshots: what a row misses costs nothing from when it was last seen, what is back does.
     * @param look Lists what the engine has; called once.
     * @returns What it listed, and all ids that are snapshots' there.
     */
    async compare(
      engineId: string,
      look: () => Promise<Set<string>>,
    ): Promise<{ there: Set<string>; known: string[] }> {
      // Rows before and after, as with volumes.
      const before = await readyOn(engineId)
      const at = clock.now()
      const there = await look()
      const known = (await readyOn(engineId)).map(({ id }) => id)
      const seen = before.filter(({ id, status }) => status === 'ready' && there.has(id)).map(({ id }) => id)
      if (seen.length > 0) {
        await db
          .update(volumeSnapshot)
          .set({ observedAt: at })
          .where(
            and(
              inArray(volumeSnapshot.id, seen),
              or(isNull(volumeSnapshot.observedAt), lt(volumeSnapshot.observedAt, at)),
            ),
          )
      }
      for (const row of before) {
        if (row.status === 'ready' && !there.has(row.id)) await lose(row, 'missing')
        if (row.status === 'failed' && row.observedAt !== null && there.has(row.id)) {
          await change(row, found => ({ status: 'ready', at: found, patch: { observedAt: found } }))
        }
      }
      return { there, known }
    },

    /** Snapshots that nobody has seen since a moment cost nothing from when they were last seen. */
    async loseUnseen(since: Date): Promise<void> {
      const unseen = await db
        .select()
        .from(volumeSnapshot)
        .where(
          and(isDue('ready'), lt(volumeSnapshot.observedAt, since), notElsewhere(volumeSnapshot.engineId)),
        )
      for (const row of unseen) await lose(row, 'engine_away')
    },
  }
}

/** A snapshot that is not gone, in a status. */
const isDue = (status: SnapshotRow['status']) =>
  and(eq(volumeSnapshot.status, status), isNull(volumeSnapshot.deletedAt))

/** A volume that is being made of a snapshot. */
const isRestoring = and(
  eq(volume.status, 'creating'),
  isNotNull(volume.fromSnapshotId),
  isNull(volume.deletedAt),
)
