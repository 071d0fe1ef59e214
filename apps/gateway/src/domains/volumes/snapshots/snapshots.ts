import { SNAPSHOTS_BY_HAND_MAX } from '@berth/contract/limits'
import {
  restoreSnapshot,
  type Snapshot,
  type SnapshotSchedule,
  type SnapshotScheduleBody,
  snapshotSchedule as scheduleEntity,
  snapshot as snapshotEntity,
  takeSnapshot as takeCall,
  type VolumeSnapshots,
  volumeSnapshots as volumeSnapshotsEntity,
} from '@berth/contract/volume-snapshots'
import { and, count, desc, eq, inArray, isNull, ne } from 'drizzle-orm'
import type { Database, Queryable, Transaction } from '../../../platform/database/database.ts'
import { notify } from '../../../platform/database/open-database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { wireOf } from '../../../platform/http/wire.ts'
import { earlierResult, keepResult } from '../../../platform/once.ts'
import type { Billing } from '../../billing/billing.ts'
import type { VolumeRow } from '../volume-states.ts'
import { slotAfter } from './schedule-rules.ts'
import {
  changeSnapshot,
  liveOf,
  madeOf,
  SNAPSHOT_CHANNEL,
  type SnapshotChangeDeps,
  type SnapshotRow,
} from './snapshot-states.ts'
import { snapshotSchedule, volumeSnapshot } from './tables.ts'
import { expectedGb, type TakeDeps, takeSnapshot } from './take-snapshot.ts'

/** What a volume that never had a schedule is asked about. */
const NO_SCHEDULE = {
  every: 'off',
  hour: 3,
  weekday: 0,
  keep: 7,
  nextAt: null,
  skippedAt: null,
  skipped: null,
} as const

const snapshotOf = wireOf(snapshotEntity)
const scheduleOf = wireOf(scheduleEntity)
const allOf = wireOf(volumeSnapshotsEntity)

export interface SnapshotsDeps extends TakeDeps, SnapshotChangeDeps {
  db: Database
  billing: TakeDeps['billing'] & SnapshotChangeDeps['billing'] & Pick<Billing, 'totals' | 'costMicro'>
  /** One of a customer's volumes that is not gone. @throws ApiError `not_found`. */
  findOwn(q: Queryable, userId: string, id: string): Promise<VolumeRow>
  /** Takes the locks in their order, and gives the row under them. @throws ApiError `not_found`. */
  lockOwn(tx: Transaction, userId: string, id: string): Promise<VolumeRow>
  /**
   * A new volume's row, where it is allowed; the caller has the locks.
   * @throws ApiError `volume_limit`, `insufficient_balance`, or `validation_failed` with `name_taken`.
   */
  insertVolume(
    tx: Transaction,
    asked: Pick<VolumeRow, 'userId' | 'name' | 'regionCode' | 'engineId' | 'sizeGb'> & {
      fromSnapshotId: string
    },
  ): Promise<VolumeRow>
  /** A volume that a call has made before, whatever became of it. */
  findEver(tx: Transaction, userId: string, id: string): Promise<VolumeRow>
  /** There is something to do. */
  wake(): void
}

/** Snapshots of a customer's volumes: what they ask for (R1.2, R2.25). */
export function createSnapshots(deps: SnapshotsDeps) {
  const { db, clock, billing, catalogue, wake } = deps

  async function toSnapshots(userId: string, rows: readonly SnapshotRow[]): Promise<Snapshot[]> {
    const ids = rows.map(({ id }) => id)
    const [costs, { currency }] = await Promise.all([
      billing.costMicro(db, 'volume_snapshot', ids),
      billing.totals(db, userId),
    ])
    return rows.map(row =>
      snapshotOf({
        ...row,
        reason: row.reasonCode === null ? null : { code: row.reasonCode, detail: row.reasonDetail },
        currency,
        microPerDay: row.status === 'ready' ? BigInt(row.sizeGb ?? 0) * row.microPerGbDay : 0n,
        costMicro: costs.get(row.id) ?? 0n,
      }),
    )
  }

  const one = async (row: SnapshotRow): Promise<Snapshot> => {
    const [made] = await toSnapshots(row.userId, [row])
    if (!made) throw new Error('a row gave no snapshot')
    return made
  }

  /** One of a volume's snapshots that is not gone, under its lock. @throws ApiError `not_found`. */
  async function lockSnapshot(tx: Transaction, volumeId: string, id: string): Promise<SnapshotRow> {
    const [row] = await tx
      .select()
      .from(volumeSnapshot)
      .where(and(liveOf(volumeId), eq(volumeSnapshot.id, id)))
      .for('update')
    if (!row) throw new ApiError('not_found')
    return row
  }

  async function byHand(q: Queryable, volumeId: string): Promise<number> {
    const [row] = await q
      .select({ snapshots: count() })
      .from(volumeSnapshot)
      .where(and(liveOf(volumeId), eq(volumeSnapshot.madeBy, 'hand'), ne(volumeSnapshot.status, 'deleting')))
    return row?.snapshots ?? 0
  }

  return {
    /** The snapshots of a volume, its schedule, and what one costs. @throws ApiError `not_found`. */
    async list(userId: string, volumeId: string): Promise<VolumeSnapshots> {
      const volume = await deps.findOwn(db, userId, volumeId)
      const [rows, [schedule], { currency }] = await Promise.all([
        db.select().from(volumeSnapshot).where(liveOf(volumeId)).orderBy(desc(volumeSnapshot.place)),
        db.select().from(snapshotSchedule).where(eq(snapshotSchedule.volumeId, volumeId)),
        billing.totals(db, userId),
      ])
      const hand = rows.filter(({ madeBy, status }) => madeBy === 'hand' && status !== 'deleting').length
      return allOf({
        snapshots: await toSnapshots(userId, rows),
        schedule: scheduleOf(schedule ?? NO_SCHEDULE),
        currency,
        microPerGbDay: catalogue.prices.snapshot_micro_per_gb_day,
        expectedGb: expectedGb(volume),
        byHandLeft: Math.max(0, SNAPSHOTS_BY_HAND_MAX - hand),
      })
    },

    /**
     * Takes one by hand; the same key again gives the same snapshot (B3).
     * @throws ApiError `not_found`, `volume_state`, `snapshot_limit` or `insufficient_balance`.
     */
    async take(input: { userId: string; volumeId: string; idempotencyKey: string }): Promise<Snapshot> {
      const { userId, volumeId } = input
      const call = { userId, operation: takeCall.operation, key: input.idempotencyKey }
      const taken = await db.transaction(async tx => {
        const volume = await deps.lockOwn(tx, userId, volumeId)
        const earlier = await earlierResult(tx, call, clock.now())
        if (earlier !== null) {
          const [row] = await tx.select().from(volumeSnapshot).where(eq(volumeSnapshot.id, earlier))
          if (!row) throw new Error(`snapshot ${earlier} is gone`)
          return row
        }
        if ((await byHand(tx, volumeId)) >= SNAPSHOTS_BY_HAND_MAX) {
          throw new ApiError('snapshot_limit', { values: { limit: SNAPSHOTS_BY_HAND_MAX } })
        }
        const row = await takeSnapshot(tx, deps, { volume, slotAt: null })
        await keepResult(tx, call, row.id)
        return row
      })
      wake()
      return one(taken)
    },

    /**
     * Deletes a snapshot. It costs nothing from here on, and is listed until its engine has confirmed that nothing is left.
     * @throws ApiError `not_found`, or `snapshot_in_use` {volume} while a volume is being made of it.
     */
    async remove(userId: string, volumeId: string, id: string): Promise<Snapshot> {
      const removed = await db.transaction(async tx => {
        await deps.lockOwn(tx, userId, volumeId)
        const row = await lockSnapshot(tx, volumeId, id)
        if (row.status === 'deleting') return row
        const made = await madeOf(tx, { volumeId, id })
        if (made !== null) throw new ApiError('snapshot_in_use', { values: { volume: made } })
        return await changeSnapshot(tx, deps, row, { status: 'deleting', at: clock.now() })
      })
      wake()
      return one(removed)
    },

    /**
     * Makes a new volume of a snapshot, on its engine, and sets its first day aside; the same key again gives the same volume
     * (B3).
     * @returns The row of the new volume.
     * @throws ApiError `not_found`, `snapshot_state`, `volume_limit`, `insufficient_balance`, or `validation_failed` with
     *   `snapshot_larger` or `name_taken`.
     */
    async restore(input: {
      userId: string
      volumeId: string
      id: string
      idempotencyKey: string
      body: { name: string; size_gb: number }
    }): Promise<VolumeRow> {
      const { userId, volumeId, body } = input
      const call = { userId, operation: restoreSnapshot.operation, key: input.idempotencyKey }
      const made = await db.transaction(async tx => {
        const { regionCode } = await deps.lockOwn(tx, userId, volumeId)
        const earlier = await earlierResult(tx, call, clock.now())
        if (earlier !== null) return await deps.findEver(tx, userId, earlier)
        const { id, status, engineId, sizeGb } = await lockSnapshot(tx, volumeId, input.id)
        if (status !== 'ready' || sizeGb === null) throw new ApiError('snapshot_state')
        if (body.size_gb < sizeGb) {
          throw new ApiError('validation_failed', { fields: [{ path: 'size_gb', rule: 'snapshot_larger' }] })
        }
        const asked = { userId, name: body.name, regionCode, engineId, sizeGb: body.size_gb }
        const row = await deps.insertVolume(tx, { ...asked, fromSnapshotId: id })
        await keepResult(tx, call, row.id)
        await notify(tx, SNAPSHOT_CHANNEL, volumeId)
        return row
      })
      wake()
      return made
    },

    /**
     * Says when snapshots are taken by themselves. The first comes at the next moment of the schedule; what is too many of those
     * before is deleted.
     * @throws ApiError `not_found`, or `volume_state` for a volume that is to be gone.
     */
    async schedule(userId: string, volumeId: string, body: SnapshotScheduleBody): Promise<SnapshotSchedule> {
      const set = await db.transaction(async tx => {
        const volume = await deps.lockOwn(tx, userId, volumeId)
        if (volume.status === 'deleting') throw new ApiError('volume_state')
        const nextAt = slotAfter(body, clock.now())
        const values = { ...body, nextAt, skippedAt: null, skipped: null, faultToldAt: null }
        const [row] = await tx
          .insert(snapshotSchedule)
          .values({ volumeId, userId, ...values })
          .onConflictDoUpdate({ target: snapshotSchedule.volumeId, set: values })
          .returning()
        if (!row) throw new Error('an insert gave no row')
        await notify(tx, SNAPSHOT_CHANNEL, volumeId)
        return row
      })
      wake()
      return scheduleOf(set)
    },

    /** How many snapshots volumes have that are not gone or going, by the volume's id. */
    async counts(q: Queryable, volumeIds: readonly string[]): Promise<Map<string, number>> {
      const rows = await q
        .select({ volumeId: volumeSnapshot.volumeId, snapshots: count() })
        .from(volumeSnapshot)
        .where(
          and(
            inArray(volumeSnapshot.volumeId, [...volumeIds]),
            isNull(volumeSnapshot.deletedAt),
            ne(volumeSnapshot.status, 'deleting'),
          ),
        )
        .groupBy(volumeSnapshot.volumeId)
      return new Map(rows.map(row => [row.volumeId, row.snapshots]))
    },
  }
}

/** Volumes of a customer that one of some snapshots is of. */
export async function volumesOf(q: Queryable, snapshotIds: readonly string[]): Promise<string[]> {
  if (snapshotIds.length === 0) return []
  const rows = await q
    .select({ volumeId: volumeSnapshot.volumeId })
    .from(volumeSnapshot)
    .where(inArray(volumeSnapshot.id, [...snapshotIds]))
    .groupBy(volumeSnapshot.volumeId)
  return rows.map(({ volumeId }) => volumeId)
}
