import type { CreationItem } from '@berth/contract/creations'

const ALL_PERCENT = 100
/** While it is encoded and fetched it is all but there. */
const ENCODING_PERCENT = 99

/** How much of a film is there, as it is said beside its name. */
export function filmPercent({ status, progress }: Pick<CreationItem, 'status' | 'progress'>): number {
  if (status === 'saved') return ALL_PERCENT
  if (status === 'encoding') return ENCODING_PERCENT
  return Math.min(progress?.percent ?? 0, ENCODING_PERCENT)
}
