import type { Transaction } from '@berth/contract/billing'

/**
 * What the page shows changes by itself: a machine's row grows, a saved card is charged or refused, a limit comes nearer.
 * All of its cards are read again together, so that they agree.
 */
export const REFRESH_MS = 30_000
/** Somebody waits for a payment that was begun just now. */
const REFRESH_OPEN_MS_MIN = 3_000
/** Between two looks a tenth of the payment's age: one that waits for its bank for days needs no more than other rows. */
const AGES_PER_REFRESH = 10

/**
 * How long the list of transactions is shown before it is read again.
 * @param rows What it shows; undefined before its first answer.
 * @param nowMs The time now.
 * @returns Milliseconds: few while the youngest payment that is not decided is young, as many as ever afterwards.
 */
export function refreshMs(rows: Transaction[] | undefined, nowMs: number): number {
  const begun = (rows ?? []).flatMap(({ date, about }) => (about.waits_for === null ? [] : Date.parse(date)))
  if (begun.length === 0) return REFRESH_MS
  const ageMs = nowMs - Math.max(...begun)
  return Math.min(Math.max(ageMs / AGES_PER_REFRESH, REFRESH_OPEN_MS_MIN), REFRESH_MS)
}
