import type { SnapshotSkip } from '@berth/contract/volume-snapshots'
import { and, eq, isNull, ne } from 'drizzle-orm'
import type { Transaction } from '../../../platform/database/database.ts'
import type { Events } from '../../../platform/events/events.ts'
import type { VolumeNews } from '../events.ts'
import { volume } from '../tables.ts'
import { tell } from '../volume-states.ts'
import { snapshotSchedule } from './tables.ts'

/** What a customer is told where none was taken when it was time. */
export const SKIP_NEWS: Readonly<Record<SnapshotSkip, VolumeNews>> = {
  volume_state: 'snapshot_no_volume',
  busy: 'snapshot_busy',
  insufficient_balance: 'snapshot_unpaid',
}

/**
 * Tells that a volume's schedule does not work, once until it does: a schedule by the hour would send a mail each hour. The
 * caller holds the wallet's lock.
 * @param fault.detail The engine's own words; left out: none.
 */
export async function tellFault(
  tx: Transaction,
  deps: { events: Pick<Events, 'emit'> },
  volumeId: string,
  fault: { news: VolumeNews; at: Date; detail?: string },
): Promise<void> {
  const [row] = await tx
    .select()
    .from(volume)
    .where(and(eq(volume.id, volumeId), isNull(volume.deletedAt)))
  if (!row) return
  const told = await tx
    .update(snapshotSchedule)
    .set({ faultToldAt: fault.at })
    .where(
      and(
        eq(snapshotSchedule.volumeId, volumeId),
        isNull(snapshotSchedule.faultToldAt),
        ne(snapshotSchedule.every, 'off'),
      ),
    )
    .returning({ volumeId: snapshotSchedule.volumeId })
  if (told.length > 0) await tell(tx, deps, row, fault)
}

/**
 * A snapshot of the schedule is ready: the next fault is told again. Not where one was left out meanwhile, or a copy that takes
 * longer than the schedule's pause would be told of at each second moment.
 */
export async function endFault(tx: Transaction, volumeId: string): Promise<void> {
  await tx
    .update(snapshotSchedule)
    .set({ faultToldAt: null })
    .where(and(eq(snapshotSchedule.volumeId, volumeId), isNull(snapshotSchedule.skipped)))
}
