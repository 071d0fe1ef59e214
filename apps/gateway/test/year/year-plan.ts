import { createRandom } from '../faults/random-fixture.ts'
import type { YearAct } from './year-acts.ts'

/** How often each is done among all. */
const TIMES: Record<YearAct, number> = {
  ...{ deploy: 7, stop: 5, start: 6, restart: 1, remove: 3 },
  ...{ subscribe: 3, convert: 3, renew: 2, renewal: 3, send: 8 },
  ...{ volume: 2, grow: 3, dropVolume: 1, image: 2, dropImage: 1, bind: 2, unbind: 1 },
  ...{ coupon: 1, credits: 2, refund: 2, payIn: 1 },
}
/** Where customers of the year live: clocks there are put forward and back on different days, or never. */
const ZONES = ['Europe/Berlin', 'America/New_York', 'Asia/Seoul', 'Australia/Sydney'] as const
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Of all acts so many come in the hours around midnight, on either side of a day's end there. */
const AT_MIDNIGHT = 0.2
/** So many nights are there in which clocks change, each with some acts for whoever lives there. */
const ACTS_A_NIGHT = 3

/** One act of one customer. */
export interface PlannedAct {
  at: number
  customer: number
  name: YearAct
  dice: readonly [number, number, number]
}

/**
 * What everybody does, in order: at any time of the day where they live, more around midnight, and in the nights in which
 * clocks change there.
 */
export function planYear(
  seed: number,
  span: { from: number; until: number; customers: number; actsADay: number },
): PlannedAct[] {
  const random = createRandom(seed)
  const { from, until, customers, actsADay } = span
  const all = Object.entries(TIMES).flatMap(([name, times]) => Array<YearAct>(times).fill(name as YearAct))
  const actAt = (at: number, customer: number): PlannedAct => ({
    ...{ at: Math.floor(at), customer },
    name: all[random.below(all.length)] ?? 'deploy',
    dice: [random.next(), random.next(), random.next()],
  })
  const acts: PlannedAct[] = []
  for (let customer = 0; customer < customers; customer++) {
    const zone = ZONES[customer % ZONES.length] ?? 'UTC'
    const count = Math.ceil(((until - from) / DAY_MS) * actsADay)
    for (let n = 0; n < count; n++) {
      const at = from + random.next() * (until - from)
      const nearMidnight = localMidnight(at, zone) + (random.next() - 0.5) * HOUR_MS
      acts.push(actAt(random.next() < AT_MIDNIGHT ? Math.max(from, nearMidnight) : at, customer))
    }
    for (const change of clockChanges(zone, from, until)) {
      for (let n = 0; n < ACTS_A_NIGHT; n++) {
        acts.push(actAt(change + (random.next() - 0.5) * 3 * HOUR_MS, customer))
      }
    }
  }
  return acts.toSorted((one, other) => one.at - other.at)
}

/** By how much the clocks of a zone are ahead of UTC at a moment. */
function aheadMs(at: number, zone: string): number {
  const parts = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' })
  const name = parts.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value ?? ''
  const [, sign, hours = '0', minutes = '0'] = /GMT([+-])(\d+):(\d+)/.exec(name) ?? []
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000
}

/** The last midnight of a zone before a moment. */
function localMidnight(at: number, zone: string): number {
  const ahead = aheadMs(at, zone)
  return Math.floor((at + ahead) / DAY_MS) * DAY_MS - ahead
}

/** When clocks of a zone are changed between two moments, to the hour. */
function clockChanges(zone: string, from: number, until: number): number[] {
  const changes: number[] = []
  for (let day = from; day < until; day += DAY_MS) {
    if (aheadMs(day, zone) === aheadMs(day + DAY_MS, zone)) continue
    let at = day
    while (aheadMs(at + HOUR_MS, zone) === aheadMs(day, zone)) at += HOUR_MS
    changes.push(at + HOUR_MS)
  }
  return changes
}
