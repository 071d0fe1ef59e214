/** What an operator is told of an alarm. */
export type AlarmNews = 'raised' | 'still' | 'over'

/** What is kept of an alarm between two looks. */
export interface AlarmState {
  /** Since when something is wrong; null: nothing is. */
  since: Date | null
  /** When operators were last told of that; null: not yet. */
  toldAt: Date | null
}

/** One that lasts is told again after a day: whoever was told first may be away. */
export const TELL_AGAIN_MS = 24 * 3_600_000

/**
 * What follows from one look at what an alarm watches.
 * @param before What was kept; null for the first look.
 * @param value How many things are wrong.
 * @param options.lastsMs What is over sooner is told to nobody.
 * @returns What to keep, and what operators are told now, if anything: once that it is raised, once a day while it
 *   lasts, and once that it is over where they were told.
 */
export function planAlarm(
  before: AlarmState | null,
  value: number,
  { now, lastsMs }: { now: Date; lastsMs: number },
): AlarmState & { news: AlarmNews | null } {
  if (!(value > 0)) return { since: null, toldAt: null, news: before?.toldAt ? 'over' : null }
  const since = before?.since ?? now
  const toldAt = before?.toldAt ?? null
  if (toldAt === null) {
    const isDue = now.getTime() - since.getTime() >= lastsMs
    return isDue ? { since, toldAt: now, news: 'raised' } : { since, toldAt, news: null }
  }
  const isDue = now.getTime() - toldAt.getTime() >= TELL_AGAIN_MS
  return isDue ? { since, toldAt: now, news: 'still' } : { since, toldAt, news: null }
}
