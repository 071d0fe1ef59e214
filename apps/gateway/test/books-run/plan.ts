import { createRandom } from '../faults/random-fixture.ts'

/** What the customers of a run do, and how often each is done among all. */
export const ACTS = {
  topUp: 14,
  confirm: 5,
  cancelTopUp: 1,
  saveMethod: 3,
  removeMethod: 2,
  setAutoTopUp: 4,
  redeem: 6,
  refund: 4,
  giveCredit: 4,
  dispute: 2,
  winDispute: 1,
  addBudget: 3,
  removeBudget: 1,
  deploy: 14,
  stop: 8,
  start: 8,
  restart: 3,
  terminate: 7,
  subscribe: 3,
  convert: 2,
  renew: 2,
  toggleRenewal: 2,
  makeVolume: 5,
  growVolume: 3,
  deleteVolume: 3,
  attachVolume: 2,
  takeSnapshot: 4,
  deleteSnapshot: 2,
  bindAddress: 3,
  unbindAddress: 3,
  loseMachine: 1,
  look: 5,
} as const
export type ActName = keyof typeof ACTS

/** One operation: who does what, and the numbers by which the rest of it is chosen. */
export interface Act {
  name: ActName
  customer: number
  /** From 0, below 1. */
  dice: readonly [number, number, number]
}

/** What happens to the installation once so many operations have begun. */
export type Disturbance = { after: number } & (
  | { kind: 'kill'; gateway: number; knownDead: boolean }
  | { kind: 'database'; how: 'SIGQUIT' | 'SIGKILL' }
  | { kind: 'time'; seconds: number }
)

export interface Plan {
  acts: Act[]
  disturbances: Disturbance[]
}

export interface PlanSizes {
  acts: number
  customers: number
  gateways: number
  kills: number
  restarts: number
}

/** A few minutes most of the time, hours often, days at times. */
const JUMPS_S = [60, 600, 1_800, 3_600, 3_600, 7_200, 18_000, 90_000]
const ACTS_PER_JUMP = 30

/** What happens in a run: the same for the same seed. */
export function makePlan(seed: number, sizes: PlanSizes): Plan {
  const random = createRandom(seed)
  const all = Object.entries(ACTS).flatMap(([name, times]) => Array<ActName>(times).fill(name as ActName))
  const acts = Array.from({ length: sizes.acts }, (): Act => {
    const name = all[random.below(all.length)] ?? 'look'
    // Half of all is done by a few, so that much happens to one at the same time.
    const some = random.next() < 0.5 ? Math.ceil(sizes.customers / 10) : sizes.customers
    const dice = [random.next(), random.next(), random.next()] as const
    return { name, customer: random.below(some), dice }
  })
  const at = () => random.below(sizes.acts)
  const disturbances: Disturbance[] = [
    ...Array.from({ length: sizes.kills }, () => ({
      ...{ after: at(), kind: 'kill' as const },
      ...{ gateway: random.below(sizes.gateways), knownDead: random.next() < 0.5 },
    })),
    ...Array.from({ length: sizes.restarts }, () => ({
      ...{ after: at(), kind: 'database' as const },
      how: random.next() < 0.5 ? ('SIGQUIT' as const) : ('SIGKILL' as const),
    })),
    ...Array.from({ length: Math.ceil(sizes.acts / ACTS_PER_JUMP) }, () => ({
      ...{ after: at(), kind: 'time' as const },
      seconds: Math.round((JUMPS_S[random.below(JUMPS_S.length)] ?? 0) * (0.5 + random.next())),
    })),
  ]
  return { acts, disturbances: disturbances.sort((one, other) => one.after - other.after) }
}
