import type { InstanceStatus } from '@berth/contract/instance-states'

const SECOND = 1_000
const MINUTE = 60 * SECOND

/** How long things may take; tests hand in shorter ones. */
export interface ReconcileLimits {
  /** Longest stay in a status before it counts as stalled (B6). Statuses that may last are absent. */
  statusMs: Partial<Record<InstanceStatus, number>>
  /** Longest time for one driver call of each step; a driver that hangs is given up on then. */
  stepMs: { status: number; boot: number; probe: number; stop: number; remove: number }
  /** A pull without a new byte for this long is given up. */
  pullStallMs: number
  /** How long an aborted call may take to come back before the next call is made beside it. */
  abortGraceMs: number
  /** Tries of one step of a start. */
  attemptsMax: number
  /** Pause after the first, second, … failed try; the last one stands for all later ones. */
  backoffMs: readonly [number, ...number[]]
  /** How often a running machine is looked at. */
  observeMs: number
  /** How long a running machine's driver may be silent before its status is `unknown`. */
  silentMs: number
  /** Pause before a silent driver is asked again. */
  silentPauseMs: number
  /**
   * The longest time that is charged of a stop, of a restart's or of a removal's: what its programs take to end is
   * their customer's, what the engine or a gateway that is away takes beyond that is not.
   */
  stopChargedMs: number
  /** How often a row that wants nothing is looked at again; the sweep and the driver's watch come first. */
  settledMs: number
}

/** The longest list of ids in one statement. */
export const IDS_MAX = 1_000

export const RECONCILE_LIMITS: ReconcileLimits = {
  statusMs: {
    creating: 2 * MINUTE,
    pulling: 30 * MINUTE,
    restarting: 2 * MINUTE,
    stopping: MINUTE,
    deleting: 5 * MINUTE,
  },
  stepMs: {
    status: 5 * SECOND,
    boot: MINUTE,
    probe: 10 * SECOND,
    stop: 30 * SECOND,
    remove: MINUTE,
  },
  pullStallMs: 5 * MINUTE,
  abortGraceMs: 2 * SECOND,
  attemptsMax: 3,
  backoffMs: [SECOND, 3 * SECOND, 10 * SECOND, 30 * SECOND, MINUTE],
  observeMs: 10 * SECOND,
  silentMs: 30 * SECOND,
  silentPauseMs: SECOND,
  stopChargedMs: MINUTE,
  settledMs: 60 * MINUTE,
}
