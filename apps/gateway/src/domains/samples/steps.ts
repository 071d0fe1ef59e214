import { METRICS_STEPS_MAX } from '@berth/contract/limits'
import { sampleCoarse, sampleFine } from './tables.ts'

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** One fineness in which samples are kept. */
export interface Tier {
  /** Seconds that a row stands for. */
  step: number
  /** How long rows are kept, in seconds. */
  keptSeconds: number
  table: typeof sampleFine | typeof sampleCoarse
}

/** From fine to coarse: a second for ten minutes, ten for an hour, a minute for a day, ten minutes for thirty days. */
export const TIERS: readonly [Tier, Tier, Tier, Tier] = [
  { step: 1, keptSeconds: 10 * MINUTE, table: sampleFine },
  { step: 10, keptSeconds: HOUR, table: sampleFine },
  { step: MINUTE, keptSeconds: DAY, table: sampleCoarse },
  { step: 10 * MINUTE, keptSeconds: 30 * DAY, table: sampleCoarse },
]

/** What graphs are drawn in, in seconds: multiples of a tier each, so that whole rows fall into a step. */
const DRAWN_STEPS = [1, 10, MINUTE, 3 * MINUTE, 10 * MINUTE, 20 * MINUTE, 90 * MINUTE] as const

/** A stretch that begins a little before what is kept is drawn as finely all the same: its first steps are a gap. */
const SLACK_SECONDS = MINUTE

/** A stretch of time as it is answered, in seconds since 1970. */
export interface Stretch {
  /** Where the first step begins; the end of the last one is `from + steps × step`. */
  from: number
  step: number
  steps: number
}

/**
 * Chooses the steps for a stretch of time: the finest in which all of it is kept, and that are not too many.
 * @param asked.to Where it ends, in seconds since 1970.
 * @param asked.rangeSeconds How long it is.
 * @param asked.after Only steps that begin later than this one; null: all.
 * @param now In seconds since 1970.
 */
export function stretchOf(
  asked: { to: number; rangeSeconds: number; after: number | null },
  now: number,
): Stretch {
  const { to, rangeSeconds, after } = asked
  const age = now - (to - rangeSeconds) - SLACK_SECONDS
  const kept = TIERS.find(({ keptSeconds }) => age <= keptSeconds) ?? TIERS[3]
  const isFew = (step: number) => Math.ceil(rangeSeconds / step) <= METRICS_STEPS_MAX
  const step = DRAWN_STEPS.find(one => one >= kept.step && isFew(one)) ?? DRAWN_STEPS[6]
  // The last step is the one under way, the first one of as many as the stretch has.
  const end = (Math.floor((to - 1) / step) + 1) * step
  const first = end - Math.ceil(rangeSeconds / step) * step
  const from = after === null ? first : Math.max(first, (Math.floor(after / step) + 1) * step)
  return { from, step, steps: Math.max(0, (end - from) / step) }
}

/**
 * The tiers from which a step is drawn, from coarse to fine: the coarsest that fits, then finer ones for what it does not
 * have yet. Seconds are drawn from tens as well: there are seconds only of machines that somebody looks at.
 */
export function tiersOf(step: number): [Tier, ...Tier[]] {
  const [second, ten, minute, tenMinutes] = TIERS
  if (step < ten.step) return [ten, second]
  if (step < minute.step) return [ten]
  return step < tenMinutes.step ? [minute, ten] : [tenMinutes, minute, ten]
}
