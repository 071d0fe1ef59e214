import type { CustomImage } from '@berth/contract/images'

const WHOLE = 100

/**
 * How far an image's making is.
 * @param progress As its calls say it.
 * @returns Percent, cut to whole ones and below a hundred until it is done; null where nobody can tell.
 */
export function percentOf(progress: CustomImage['progress']): number | null {
  if (progress?.build_steps) return percent(progress.build_steps.done, progress.build_steps.total)
  if (!progress || progress.bytes_total === null || progress.bytes_total <= 0) return null
  return percent(progress.bytes_done, progress.bytes_total)
}

function percent(done: number, total: number): number {
  return Math.min(Math.max(Math.floor((done * WHOLE) / total), 0), WHOLE - 1)
}
