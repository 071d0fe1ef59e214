import * as z from 'zod'

/** Whether a text like `2026-11-20` is a day that there is. */
export function isDay(text: string): boolean {
  const at = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text)
}

/** A day of the reader's calendar in an address; empty where none is chosen. */
export const dayText = z
  .string()
  .regex(/^2\d{3}-\d\d-\d\d$/)
  .refine(isDay)
  .catch('')

/** What a call is asked for a period of days of this device, the last one among them; empty ones bound nothing. */
export function periodOf({ from, to }: { from: string; to: string }): { from?: string; until?: string } {
  return { ...(from ? { from: beginOf(from, 0) } : {}), ...(to ? { until: beginOf(to, 1) } : {}) }
}

/** The first moment of a day on this device, or of one so many days later. */
function beginOf(text: string, daysLater: number): string {
  const [year = 0, month = 1, date = 1] = text.split('-').map(Number)
  return new Date(year, month - 1, date + daysLater).toISOString()
}
