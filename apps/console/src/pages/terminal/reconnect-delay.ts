/** The first tries come soon after each other: where one gateway died, another has its machines within seconds. */
const FIRST_MS = 300
const GROWTH = 1.5
/** A tab that was forgotten must not be a load, and one that is looked at must not wait long. */
const LONGEST_MS = 15_000
/** Tabs that lost the same gateway come back one after the other. */
const SPREAD = 0.2

/**
 * How long to wait before a connection is tried again: half as long again each time, up to a cap. Five tries fall into
 * the first five seconds, however they are spread.
 * @param failures Tries that failed since it last worked, from 1.
 * @param random Between 0 and 1; spreads the tries of many tabs.
 * @returns Milliseconds.
 */
export function reconnectDelayMs(failures: number, random: number): number {
  const grown = FIRST_MS * GROWTH ** Math.min(Math.max(0, failures - 1), 20)
  return Math.round(Math.min(LONGEST_MS, grown) * (1 - SPREAD + 2 * SPREAD * random))
}
