import type { InstanceStatus } from '@berth/contract/instance-states'

const SECOND = 1_000
const MINUTE = 60 * SECOND

/** How long things may take; tests hand in shorter ones. */
export interface ReconcileLimits {
  /** Longest stay in a status before it counts as stalled (B6). Statuses that may last are absent. */
  status_ms: Partial<Record<InstanceStatus, number>>
  /** Longest time for one driver call of each step; a driver that hangs is given up on then. */
  step_ms: { status: number; boot: number; probe: number; stop: number; remove: number }
  /** A pull without a new byte for this long is given up. */
  pull_stall_ms: number
  /** How long an aborted call may take to come back before the next call is made beside it. */
  abort_grace_ms: number
  /** Tries of one step of a start. */
  attempts_max: number
  /** Pause after the first, second, … failed try; the last one stands for all later ones. */
  backoff_ms: readonly [number, ...number[]]
  /** How often a running machine is looked at. */
  observe_ms: number
  /** How long a running machine's driver may be silent before its status is `unknown`. */
  silent_ms: number
  /** Pause before a silent driver is asked again. */
  silent_pause_ms: number
  /** How often a row that wants nothing is looked at again; the sweep and the driver's watch come first. */
  settled_ms: number
}

/** The longest list of ids in one statement. */
export const IDS_MAX = 1_000

export const RECONCILE_LIMITS: ReconcileLimits = {
  status_ms: {
    creating: 2 * MINUTE,
    pulling: 30 * MINUTE,
    restarting: 2 * MINUTE,
    stopping: MINUTE,
    deleting: 5 * MINUTE,
  },
  step_ms: {
    status: 5 * SECOND,
    boot: MINUTE,
    probe: 10 * SECOND,
    stop: 30 * SECOND,
    remove: MINUTE,
  },
  pull_stall_ms: 5 * MINUTE,
  abort_grace_ms: 2 * SECOND,
  attempts_max: 3,
  backoff_ms: [SECOND, 3 * SECOND, 10 * SECOND, 30 * SECOND, MINUTE],
  observe_ms: 10 * SECOND,
  silent_ms: 30 * SECOND,
  silent_pause_ms: SECOND,
  settled_ms: 60 * MINUTE,
}
