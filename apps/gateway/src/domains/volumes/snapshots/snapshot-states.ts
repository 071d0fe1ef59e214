import assert from 'node:assert/strict'
import type { SnapshotStatus } from '@berth/contract/volume-snapshots'
import { and, eq, isNotNull, isNull, sql } from 'drizzle-orm'
import { VOLUME_SNAPSHOT_SKU } from '../../../platform/config/skus.ts'
import type { Queryable, Transaction } from '../../../platform/database/database.ts'
import { notify } from '../../../platform/database/open-database.ts'
import type { Billing, Meter, Subject } from '../../billing/billing.ts'
import { volume } from '../tables.ts'
import { snapshotSchedule, volumeSnapshot } from './tables.ts'

/** A snapshot as its table keeps it. */
export type SnapshotRow = typeof volumeSnapshot.$inferSelect

/** The channel on which a volume's id is told when something is to be done about its snapshots. */
export const SNAPSHOT_CHANNEL = 'volume_snapshot'

const BYTES_PER_GB = 1024 ** 3

/** What each status may become. */
const SNAPSHOT_FOLLOWS: Readonly<Record<SnapshotStatus, readonly SnapshotStatus[]>> = {
  making: ['ready', 'failed', 'deleting'],
  ready: ['failed', 'deleting'],
  // What was lost is there again.
  failed: ['ready', 'deleting'],
  deleting: [],
}

/** A snapshot as billing knows it. */
export const snapshotSubject = (id: string): Subject => ({ kind: 'volume_snapshot', id })

/** GB that a snapshot is charged by: each that is begun, and one at least. */
export const gbOf = (usedBytes: number): number => Math.max(1, Math.ceil(usedBytes / BYTES_PER_GB))

function metersOf({ sizeGb, microPerGbDay }: Pick<SnapshotRow, 'sizeGb' | 'microPerGbDay'>): Meter[] {
  if (microPerGbDay === 0n || sizeGb === null) return []
  const label = `${sizeGb} GB`
  return [{ sku: VOLUME_SNAPSHOT_SKU, label, unit: 'gb_day', quantity: sizeGb, rateMicro: microPerGbDay }]
}

export interface SnapshotChangeDeps {
  billing: Pick<Billing, 'openMeters' | 'closeMeters' | 'releaseHold'>
}

export interface SnapshotChange {
  status: SnapshotStatus
  at: Date
  /** Left out: none. */
  reason?: { code: NonNullable<SnapshotRow['reasonCode']>; detail: string }
  /** Where what it has cost ends; without it at `at`. */
  billedUntil?: Date
  patch?: Partial<
    Pick<SnapshotRow, 'takenAt' | 'inUse' | 'usedBytes' | 'sizeGb' | 'observedAt' | 'deletedAt'>
  >
}

/**
 * Changes a snapshot's status, with what follows from it: what it costs, what is set aside, the notice to other gateways. The
 * caller holds the locks: first the wallet's, then the row's.
 * @param row The row as it is under that lock.
 * @returns The row as it is now.
 */
export async function changeSnapshot(
  tx: Transaction,
  { billing }: SnapshotChangeDeps,
  row: SnapshotRow,
  change: SnapshotChange,
): Promise<SnapshotRow> {
  const { status, at, reason, billedUntil = at } = change
  const follows = row.status === status || SNAPSHOT_FOLLOWS[row.status].includes(status)
  assert(follows, `a snapshot that is ${row.status} does not become ${status}`)
  const [changed] = await tx
    .update(volumeSnapshot)
    .set({
      ...change.patch,
      status,
      reasonCode: reason?.code ?? null,
      reasonDetail: reason?.detail ?? '',
      statusSince: at,
      attempts: 0,
      nextAttemptAt: at,
      version: sql`${volumeSnapshot.version} + 1`,
    })
    .where(eq(volumeSnapshot.id, row.id))
    .returning()
  assert(changed, `snapshot ${row.id} vanished under its lock`)
  const key = { userId: row.userId, subject: snapshotSubject(row.id) }
  const [ran, runs] = [row.status === 'ready', status === 'ready']
  if (ran && !runs) await billing.closeMeters(tx, { ...key, at: billedUntil })
  const meters = metersOf(changed)
  if (runs && !ran && meters.length > 0) {
    const name = await nameOf(tx, row.volumeId)
    await billing.openMeters(tx, { ...key, name, meters, stopsWhenEmpty: true, at })
  }
  if (!runs && status !== 'making') await billing.releaseHold(tx, key)
  await notify(tx, SNAPSHOT_CHANNEL, row.volumeId)
  return changed
}

async function nameOf(q: Queryable, volumeId: string): Promise<string> {
  const [row] = await q.select({ name: volume.name }).from(volume).where(eq(volume.id, volumeId))
  return row?.name ?? ''
}

/** A volume's snapshots that are not gone. */
export const liveOf = (volumeId: string) =>
  and(eq(volumeSnapshot.volumeId, volumeId), isNull(volumeSnapshot.deletedAt))

/**
 * The name of a volume that is being made of one of a volume's snapshots; null where none is.
 * @param which.id Of that snapshot alone.
 */
export async function madeOf(q: Queryable, which: { volumeId: string; id?: string }): Promise<string | null> {
  const [found] = await q
    .select({ name: volume.name })
    .from(volume)
    .innerJoin(volumeSnapshot, eq(volume.fromSnapshotId, volumeSnapshot.id))
    .where(
      and(
        eq(volumeSnapshot.volumeId, which.volumeId),
        which.id === undefined ? undefined : eq(volumeSnapshot.id, which.id),
        isNotNull(volume.fromSnapshotId),
        eq(volume.status, 'creating'),
        isNull(volume.deletedAt),
      ),
    )
    .limit(1)
  return found?.name ?? null
}

/** Deletes all of a volume's snapshots and its schedule, in the transaction that deletes it. The caller holds the wallet's lock. */
export async function dropAll(
  tx: Transaction,
  deps: SnapshotChangeDeps,
  { volumeId, at }: { volumeId: string; at: Date },
): Promise<void> {
  await tx.delete(snapshotSchedule).where(eq(snapshotSchedule.volumeId, volumeId))
  const rows = await tx.select().from(volumeSnapshot).where(liveOf(volumeId)).for('update')
  for (const row of rows) {
    if (row.status !== 'deleting') await changeSnapshot(tx, deps, row, { status: 'deleting', at })
  }
}
