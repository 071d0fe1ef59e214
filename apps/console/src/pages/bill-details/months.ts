const FIRST_MONTH = '2000-01'

/** The month of UTC that a moment is in: `2026-11`. */
export function monthOf(at: Date): string {
  return at.toISOString().slice(0, 7)
}

/**
 * The months to choose from, newest first: those in which something was used, this one, and the one that is shown.
 * @param used As the gateway tells them.
 */
export function monthsToChoose(used: readonly string[], shown: string, now: Date): string[] {
  return [...new Set([...used, monthOf(now), shown])].sort().reverse()
}

/** The month before, or null where there is none. */
export function monthBefore(month: string): string | null {
  const date = new Date(`${month}-01T00:00:00.000Z`)
  date.setUTCMonth(date.getUTCMonth() - 1)
  return monthOf(date) < FIRST_MONTH ? null : monthOf(date)
}

/** The month after: `2026-12` gives `2027-01`. */
export function monthAfter(month: string): string {
  const date = new Date(`${month}-01T00:00:00.000Z`)
  date.setUTCMonth(date.getUTCMonth() + 1)
  return monthOf(date)
}
