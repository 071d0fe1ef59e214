import {
  VOLUME_NEAR_FULL_PERCENT,
  VOLUME_NOT_NEAR_PERCENT,
  VOLUME_OVER_SIZE_HOURS,
} from '@berth/contract/limits'
import type { VolumeNews } from './events.ts'
import type { volume } from './tables.ts'

const BYTES_PER_GB = 1024 ** 3
const HOUR_MS = 3_600_000
const PERCENT = 100

/** What a row says of how full its volume is. */
export type UseColumns = Pick<
  typeof volume.$inferSelect,
  'sizeGb' | 'usedBytes' | 'nearFullSince' | 'overSince' | 'readOnlySince'
>

/** When a volume that is over its size becomes read-only for that; null where it is not over it. */
export function readOnlyOn({ overSince, readOnlySince }: UseColumns): Date | null {
  if (readOnlySince) return readOnlySince
  return overSince && new Date(overSince.getTime() + VOLUME_OVER_SIZE_HOURS * HOUR_MS)
}

/**
 * What follows from how much a volume holds: whether it is nearly full, which is told once until it has clearly more room
 * again, and whether it is over its size, which is told at once; after a day of it instances that start have it read-only,
 * until it is found within its size.
 * @param row With the size and the bytes as they are now.
 * @returns What the row is to say, and the news; at most one.
 */
export function judgeUse(
  row: UseColumns,
  at: Date,
): Pick<UseColumns, 'nearFullSince' | 'overSince' | 'readOnlySince'> & { news: VolumeNews | null } {
  const { usedBytes, nearFullSince, overSince, readOnlySince } = row
  if (usedBytes === null) return { nearFullSince, overSince, readOnlySince, news: null }
  const size = row.sizeGb * BYTES_PER_GB
  const isOver = usedBytes > size
  const isNear =
    usedBytes * PERCENT >= size * (nearFullSince ? VOLUME_NOT_NEAR_PERCENT : VOLUME_NEAR_FULL_PERCENT)
  const now = {
    nearFullSince: isNear ? (nearFullSince ?? at) : null,
    overSince: isOver ? (overSince ?? at) : null,
    readOnlySince: isOver ? readOnlySince : null,
  }
  if (isOver && !readOnlySince) {
    const from = readOnlyOn({ ...row, ...now })
    if (from && from <= at) return { ...now, readOnlySince: at, news: 'over_read_only' }
  }
  if (isOver && !overSince) return { ...now, news: 'over_size' }
  return { ...now, news: isNear && !nearFullSince ? 'near_full' : null }
}
