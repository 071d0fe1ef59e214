/** The first try comes almost at once; a gateway that restarts is back within seconds. */
const FIRST_MS = 500
/** A tab that was forgotten must not be a load, and one that is looked at must not wait long. */
const LONGEST_MS = 15_000
/** Tabs that lost the same gateway come back one after the other. */
const SPREAD = 0.2

/**
 * How long to wait before a connection is tried again: twice as long each time, up to a cap.
 * @param failures Tries that failed since it last worked, from 1.
 * @param random Between 0 and 1; spreads the tries of many tabs.
 * @returns Milliseconds.
 */
export function reconnectDelayMs(failures: number, random: number): number {
  const doubled = FIRST_MS * 2 ** Math.min(Math.max(0, failures - 1), 20)
  return Math.round(Math.min(LONGEST_MS, doubled) * (1 - SPREAD + 2 * SPREAD * random))
}
