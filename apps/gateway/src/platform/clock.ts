/** The one place that reads the time; everything else is handed a clock. */
export interface Clock {
  /** Now, to the millisecond. */
  now(): Date
}

/** The machine's own clock. */
export const systemClock: Clock = { now: () => new Date() }
