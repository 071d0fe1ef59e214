import { and, eq } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Catalogue } from '../../../platform/config/catalogue.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import { notify } from '../../../platform/database/open-database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Ids } from '../../../platform/ids.ts'
import type { Billing } from '../../billing/billing.ts'
import { isBilled, type VolumeRow } from '../volume-states.ts'
import { gbOf, liveOf, SNAPSHOT_CHANNEL, type SnapshotRow, snapshotSubject } from './snapshot-states.ts'
import { volumeSnapshot } from './tables.ts'

/** One may hold more than its volume's size, which nothing may enforce: up to so many times that is copied. */
const OVER_SIZE_TIMES_MAX = 2

export interface TakeDeps {
  clock: Clock
  ids: Ids
  catalogue: Pick<Catalogue, 'prices'>
  billing: Pick<Billing, 'hold'>
}

/** GB that a snapshot of a volume is expected to take: what it held when it was measured last, else its size. */
export const expectedGb = ({ usedBytes, sizeGb }: Pick<VolumeRow, 'usedBytes' | 'sizeGb'>): number =>
  usedBytes === null ? sizeGb : gbOf(usedBytes)

/**
 * Has a snapshot taken, and sets its first day aside. The caller holds the wallet's lock, which is the volume's.
 * @param slotAt The moment of the schedule that it is for; null: it is asked for by hand.
 * @throws ApiError `volume_state` or `insufficient_balance`.
 */
export async function takeSnapshot(
  tx: Transaction,
  deps: TakeDeps,
  { volume, slotAt }: { volume: VolumeRow; slotAt: Date | null },
): Promise<SnapshotRow> {
  if (!isBilled(volume.status)) throw new ApiError('volume_state')
  const { userId, id: volumeId, engineId } = volume
  const id = deps.ids.snapshotId()
  const microPerGbDay = deps.catalogue.prices.snapshot_micro_per_gb_day
  const amountMicro = BigInt(expectedGb(volume)) * microPerGbDay
  await deps.billing.hold(tx, { userId, subject: snapshotSubject(id), amountMicro })
  const now = deps.clock.now()
  const [row] = await tx
    .insert(volumeSnapshot)
    .values({
      id,
      userId,
      volumeId,
      engineId,
      gbMax: volume.wantedGb * OVER_SIZE_TIMES_MAX,
      status: 'making',
      statusSince: now,
      madeBy: slotAt === null ? 'hand' : 'schedule',
      slotAt,
      microPerGbDay,
      nextAttemptAt: now,
      createdAt: now,
    })
    .returning()
  if (!row) throw new Error('an insert gave no row')
  await notify(tx, SNAPSHOT_CHANNEL, volumeId)
  return row
}

/** Whether the schedule's last one is still being taken. */
export async function isTaking(tx: Transaction, volumeId: string): Promise<boolean> {
  const found = await tx
    .select({ id: volumeSnapshot.id })
    .from(volumeSnapshot)
    .where(and(liveOf(volumeId), eq(volumeSnapshot.madeBy, 'schedule'), eq(volumeSnapshot.status, 'making')))
    .limit(1)
  return found.length > 0
}
