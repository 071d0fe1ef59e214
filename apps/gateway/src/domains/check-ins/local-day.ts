const MINUTE_MS = 60_000
/** No day is longer, whatever a zone does to its clocks. */
const DAY_MINUTES_MAX = 50 * 60

/** The day of a moment by the calendar of a zone, such as `2026-11-27`. */
export function dayIn(timeZone: string, at: Date): string {
  const parts = new Intl.DateTimeFormat('en', {
    ...{ timeZone, calendar: 'iso8601', numberingSystem: 'latn' },
    ...{ year: 'numeric', month: '2-digit', day: '2-digit' },
  }).formatToParts(at)
  const partOf = (type: string) => parts.find(part => part.type === type)?.value ?? ''
  return `${partOf('year')}-${partOf('month')}-${partOf('day')}`
}

/** The first moment, to the minute, of the day after a moment's own in a zone. */
export function nextDayIn(timeZone: string, at: Date): Date {
  const today = dayIn(timeZone, at)
  const fromMinute = Math.floor(at.getTime() / MINUTE_MS)
  const isLater = (minute: number) => dayIn(timeZone, new Date(minute * MINUTE_MS)) > today
  let [earlier, later] = [fromMinute, fromMinute + DAY_MINUTES_MAX]
  while (later - earlier > 1) {
    const middle = Math.floor((earlier + later) / 2)
    if (isLater(middle)) later = middle
    else earlier = middle
  }
  return new Date(later * MINUTE_MS)
}

/** The day before a day. */
export function dayBefore(day: string): string {
  const at = new Date(`${day}T00:00:00Z`)
  at.setUTCDate(at.getUTCDate() - 1)
  return at.toISOString().slice(0, 10)
}
