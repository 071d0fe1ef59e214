import type { CreationStatus } from '@berth/contract/creation-states'
import type { Creation, CreationItem } from '@berth/contract/creations'

/** What a film goes through until it is there. */
export const FILM_STEPS = ['queued', 'rendering', 'encoding', 'saved'] as const satisfies CreationStatus[]

const MS = 1_000
const ALL_PERCENT = 100
/** Before this much is made, how long that took says little of the rest. */
const TELLING_PERCENT = 5

/** At which of its steps a film is; before the first where it is at none. */
export function stepAt(status: CreationStatus): number {
  return (FILM_STEPS as readonly CreationStatus[]).indexOf(status)
}

/**
 * How long a film still takes, about.
 * @param outlook How long its model takes for a second; null as long as that is not known.
 * @param nowMs In milliseconds since 1970.
 * @returns Seconds; null where nothing is known by which to tell.
 */
export function leftSeconds(
  { status, progress, rendering_at }: Pick<CreationItem, 'status' | 'progress' | 'rendering_at'>,
  { seconds }: Pick<Creation, 'seconds'>,
  outlook: { median_ms: number | null } | null,
  nowMs: number,
): number | null {
  const median = outlook?.median_ms ?? null
  const whole = median === null ? null : (median * (seconds ?? 0)) / MS
  if (status !== 'rendering' || rendering_at === null) return status === 'queued' ? whole : null
  const passed = Math.max(0, (nowMs - Date.parse(rendering_at)) / MS)
  const percent = progress?.percent ?? 0
  if (percent >= TELLING_PERCENT) return Math.round((passed * (ALL_PERCENT - percent)) / percent)
  return whole === null ? null : Math.max(1, Math.round(whole - passed))
}
