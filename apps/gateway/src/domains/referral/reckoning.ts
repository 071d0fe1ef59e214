import { floorDiv, RATE_PARTS } from './terms.ts'

/** What a friend spent on a UTC day. */
export interface DaySpent {
  day: string
  usedMicro: bigint
  cashMicro: bigint
}

/** A reward as it is booked. */
export interface BookedReward {
  kind: 'first_topup' | 'rebate'
  day: string
  quarter: string
  orderMicro: bigint
  cashMicro: bigint
  amountMicro: bigint
}

/** What is to be booked: what a reward's row grows by, or falls. */
export interface RewardChange extends BookedReward {
  orderAt: Date
}

interface Reckoning {
  /** Whether the friend counts: if not, whatever is not settled is taken back. */
  counts: boolean
  days: readonly DaySpent[]
  booked: readonly BookedReward[]
  rebateHundredths: number
  /** Cash × rate of what is booked, in parts of a micro-unit. */
  rebateParts: bigint
  /** Where what is earned of a day is booked: its quarter, or the first one after it that is not closed. */
  quarterFor: (day: string) => string
  /** Where what a quarter's row has is changed; null once that is settled. */
  homeOf: (quarter: string) => string | null
}

/**
 * What a friend's rebates are to change by. They are the floor of the sum of all cash × rate, so that no number of days and
 * quarters drifts: what a change earns is what that floor grows by. Nothing is read and nothing is written.
 */
export function reckonRebates(reckoning: Reckoning): { changes: RewardChange[]; rebateParts: bigint } {
  let { rebateParts } = reckoning
  const changes = differences(reckoning).map(change => {
    const before = floorDiv(rebateParts, RATE_PARTS)
    rebateParts += change.cashMicro * BigInt(reckoning.rebateHundredths)
    return { ...change, amountMicro: floorDiv(rebateParts, RATE_PARTS) - before }
  })
  return { changes, rebateParts }
}

function differences({ counts, days, booked, quarterFor, homeOf }: Reckoning): RewardChange[] {
  const rebates = booked.filter(({ kind }) => kind === 'rebate')
  if (!counts) return takenBack(rebates, homeOf)
  const spent = new Map(days.map(one => [one.day, one]))
  const known = Map.groupBy(rebates, ({ day }) => day)
  const all = [...new Set([...spent.keys(), ...known.keys()])].sort()
  return all.flatMap(day => {
    const rows = known.get(day) ?? []
    const orderMicro = (spent.get(day)?.usedMicro ?? 0n) - sumOf(rows, 'orderMicro')
    const cashMicro = (spent.get(day)?.cashMicro ?? 0n) - sumOf(rows, 'cashMicro')
    if (orderMicro === 0n && cashMicro === 0n) return []
    const at = { kind: 'rebate', day, quarter: quarterFor(day), orderAt: startOf(day) } as const
    return [{ ...at, orderMicro, cashMicro, amountMicro: 0n }]
  })
}

interface FirstTopup {
  counts: boolean
  booked: readonly BookedReward[]
  rewardMicro: bigint
  paidMicro: bigint
  /** When the payment was made that it counts from. */
  paidAt: Date
  quarterFor: (day: string) => string
  homeOf: (quarter: string) => string | null
}

/** What the reward for a friend's first top-ups is to change by: it is there once, or taken back where it is not settled. */
export function reckonFirstTopup(given: FirstTopup): RewardChange[] {
  const { counts, booked, rewardMicro, paidMicro, paidAt, quarterFor, homeOf } = given
  const rows = booked.filter(({ kind }) => kind === 'first_topup')
  if (!counts) return takenBack(rows, homeOf)
  if (sumOf(rows, 'amountMicro') !== 0n || rewardMicro === 0n) return []
  const day = paidAt.toISOString().slice(0, 10)
  return [
    {
      ...{ kind: 'first_topup', day, quarter: quarterFor(day), orderAt: paidAt },
      ...{ orderMicro: paidMicro, cashMicro: paidMicro, amountMicro: rewardMicro },
    },
  ]
}

/** Rows that are not settled yet, the other way round. */
function takenBack(
  rows: readonly BookedReward[],
  homeOf: (quarter: string) => string | null,
): RewardChange[] {
  return rows.flatMap(row => {
    const quarter = homeOf(row.quarter)
    if (quarter === null || (row.orderMicro === 0n && row.cashMicro === 0n && row.amountMicro === 0n))
      return []
    return [
      {
        ...{ kind: row.kind, day: row.day, quarter, orderAt: startOf(row.day) },
        ...{ orderMicro: -row.orderMicro, cashMicro: -row.cashMicro, amountMicro: -row.amountMicro },
      },
    ]
  })
}

function sumOf(rows: readonly BookedReward[], key: 'orderMicro' | 'cashMicro' | 'amountMicro'): bigint {
  return rows.reduce((sum, row) => sum + row[key], 0n)
}

function startOf(day: string): Date {
  return new Date(`${day}T00:00:00Z`)
}
