const DAY_MS = 86_400_000
const SUNDAY = 0
const SATURDAY = 6

/**
 * The end of the working day, in UTC, that is so many after a moment. Saturdays and Sundays are none; of holidays nothing
 * is known.
 * @param from A moment, whose own day does not count.
 */
export function workingDaysAfter(from: Date, days: number): Date {
  let at = startOfDay(from)
  for (let left = days; left > 0; ) {
    at += DAY_MS
    const day = new Date(at).getUTCDay()
    if (day !== SATURDAY && day !== SUNDAY) left--
  }
  return new Date(at + DAY_MS - 1)
}

function startOfDay(at: Date): number {
  return Math.floor(at.getTime() / DAY_MS) * DAY_MS
}
