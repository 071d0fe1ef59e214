import type { CustomImage } from '@berth/contract/images'

const WHOLE = 100

/**
 * How far an image's making is.
 * @param progress As its calls say it.
 * @returns Percent, cut to whole ones and below a hundred until it is done; null where nobody can tell.
 */
export function percentOf(progress: CustomImage['progress']): number | null {
  if (!progress || progress.bytes_total === null || progress.bytes_total <= 0) return null
  const percent = Math.floor((progress.bytes_done * WHOLE) / progress.bytes_total)
  return Math.min(Math.max(percent, 0), WHOLE - 1)
}
