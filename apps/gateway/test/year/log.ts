import type { Cycle, Sized } from './price-list.ts'

/** What was done by or for one customer, and came to something. */
export type Deed = { who: string } & (
  | { kind: 'top-up' | 'refund'; cents: number }
  | { kind: 'credits'; micro: bigint; endsAt: number | null }
  | ({ kind: 'deploy'; id: string; term: { cycle: Cycle; renews: boolean } | null } & Sized)
  | { kind: 'stop' | 'start' | 'restart' | 'remove' | 'renew'; id: string }
  | { kind: 'subscribe'; id: string; cycle: Cycle; renews: boolean }
  | { kind: 'convert'; id: string; cycle: Cycle | null }
  | { kind: 'renewal'; id: string; renews: boolean }
  /** The counter of what a machine has sent stands there. */
  | { kind: 'counter'; id: string; bytes: number }
  | { kind: 'volume' | 'grow'; id: string; gb: number }
  | { kind: 'image'; id: string; gb: number }
  | { kind: 'drop'; id: string }
  | { kind: 'address'; id: string; machine: string }
)

/** One line of the log. `look`: the gateway's rounds were made. `prices`: a list that holds from then on. */
export type Entry = { at: number } & (Deed | { kind: 'prices'; text: string } | { kind: 'look' })
