/** What an operator is told of an alarm. */
export type AlarmNews = 'raised' | 'still' | 'over'

/** What is kept of an alarm between two looks. */
export interface AlarmState {
  /** Since when something is wrong; null: nothing is. */
  since: Date | null
  /** When operators were last told of that; null: not yet. */
  toldAt: Date | null
  /** When they were last told that it is over; null: never. */
  overAt: Date | null
}

/** One that lasts is told again after a day: whoever was told first may be away. */
export const TELL_AGAIN_MS = 24 * 3_600_000
/** What was told to be over is not told to be there again sooner: nobody fills an operator's mailbox by having it come and go. */
export const QUIET_MS = 3_600_000

/**
 * What follows from one look at what an alarm watches.
 * @param before What was kept; null for the first look.
 * @param value How many things are wrong.
 * @param options.lastsMs What is over sooner is told to nobody.
 * @returns What to keep, and what operators are told now, if anything: once that it is raised (an hour after the last one was
 *   over at the soonest), once a day while it lasts, and once that it is over where they were told.
 */
export function planAlarm(
  before: AlarmState | null,
  value: number,
  { now, lastsMs }: { now: Date; lastsMs: number },
): AlarmState & { news: AlarmNews | null } {
  const overAt = before?.overAt ?? null
  if (!(value > 0)) {
    const isNews = before?.toldAt != null
    return { since: null, toldAt: null, overAt: isNews ? now : overAt, news: isNews ? 'over' : null }
  }
  const since = before?.since ?? now
  const toldAt = before?.toldAt ?? null
  if (toldAt === null) {
    const isQuiet = overAt !== null && now.getTime() - overAt.getTime() < QUIET_MS
    const isDue = now.getTime() - since.getTime() >= lastsMs && !isQuiet
    return isDue ? { since, toldAt: now, overAt, news: 'raised' } : { since, toldAt, overAt, news: null }
  }
  const isDue = now.getTime() - toldAt.getTime() >= TELL_AGAIN_MS
  return isDue ? { since, toldAt: now, overAt, news: 'still' } : { since, toldAt, overAt, news: null }
}
