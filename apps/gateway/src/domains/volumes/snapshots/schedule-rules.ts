import type { SnapshotEvery } from '@berth/contract/volume-snapshots'
import type { volumeSnapshot } from './tables.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const DAYS_PER_WEEK = 7
/** The day of the week on which the clock of computers begins, a Thursday. */
const FIRST_WEEKDAY = 4

/** When snapshots are taken, as a schedule says. */
export interface ScheduleTimes {
  every: SnapshotEvery
  /** By UTC, of those by the day or week. */
  hour: number
  /** 0 is Sunday, of those by the week. */
  weekday: number
}

/** How far moments of a schedule are apart, and how far its first one is from the clock's beginning; null: it has none. */
function beatOf({ every, hour, weekday }: ScheduleTimes): { periodMs: number; firstMs: number } | null {
  switch (every) {
    case 'off':
      return null
    case 'hourly':
      return { periodMs: HOUR_MS, firstMs: 0 }
    case 'daily':
      return { periodMs: DAY_MS, firstMs: hour * HOUR_MS }
    case 'weekly': {
      const days = (weekday - FIRST_WEEKDAY + DAYS_PER_WEEK) % DAYS_PER_WEEK
      return { periodMs: DAYS_PER_WEEK * DAY_MS, firstMs: days * DAY_MS + hour * HOUR_MS }
    }
  }
}

/** The last moment of a schedule that is not after another one; null where it has none. */
export function slotBefore(times: ScheduleTimes, at: Date): Date | null {
  const beat = beatOf(times)
  if (!beat) return null
  const { periodMs, firstMs } = beat
  return new Date(Math.floor((at.getTime() - firstMs) / periodMs) * periodMs + firstMs)
}

/** The first moment of a schedule that is after another one; null where it has none. */
export function slotAfter(times: ScheduleTimes, at: Date): Date | null {
  const before = slotBefore(times, at)
  const beat = beatOf(times)
  return before && beat && new Date(before.getTime() + beat.periodMs)
}

/** What the rule looks at of a snapshot. */
export type KeptColumns = Pick<
  typeof volumeSnapshot.$inferSelect,
  'id' | 'place' | 'status' | 'madeBy' | 'observedAt'
>

/**
 * Which of a volume's snapshots a schedule has too many of: of those that it has taken all that are older than the last `keep`
 * of them that were ever there, and those that were never there once it has taken another one. One that cannot be found now
 * counts as there: it may come back. Those taken by hand are nobody's surplus.
 * @param rows All of a volume that are not gone, in any order.
 */
export function surplusOf<Row extends KeptColumns>(rows: readonly Row[], keep: number): Row[] {
  const own = rows.filter(({ madeBy, status }) => madeBy === 'schedule' && status !== 'deleting')
  const newestFirst = own.toSorted((a, b) => b.place - a.place)
  const wasThere = newestFirst.filter(({ observedAt }) => observedAt !== null)
  const neverThere = newestFirst.filter(
    ({ status, observedAt }) => status === 'failed' && observedAt === null,
  )
  return [...wasThere.slice(keep), ...neverThere.filter(row => row !== newestFirst[0])]
}
