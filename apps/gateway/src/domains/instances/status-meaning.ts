import type { InstanceStatus } from '@berth/contract/instance-states'

interface Meaning {
  /** What is metered: a compute interval is open exactly while the status is `running`. */
  usage: 'compute' | 'disk' | null
  /** Whether the first hour stays set aside: while a start is under way and while it runs. */
  hold: boolean
  /** Whether its GPUs stay taken: until the driver has confirmed that nothing runs, or has been given up on. */
  gpus: boolean
}

/**
 * What each status means for money and stock. Every change of status goes through this one table, so that no
 * path can forget to end a charge: metering begins when the machine is ready and ends when the customer asks for
 * a stop, a restart or the end, not when a slow driver gets round to it (B6); an error costs nothing at all.
 */
export const MEANING: Record<InstanceStatus, Meaning> = {
  creating: { usage: null, hold: true, gpus: true },
  pulling: { usage: null, hold: true, gpus: true },
  running: { usage: 'compute', hold: true, gpus: true },
  restarting: { usage: null, hold: true, gpus: true },
  // Nobody can say that it runs, so it is not charged; but it may run, so its GPUs are nobody else's.
  unknown: { usage: null, hold: true, gpus: true },
  imageBuilding: { usage: null, hold: true, gpus: true },
  stopping: { usage: null, hold: false, gpus: true },
  deleting: { usage: null, hold: false, gpus: true },
  stopped: { usage: 'disk', hold: false, gpus: false },
  exited: { usage: 'disk', hold: false, gpus: false },
  error: { usage: null, hold: false, gpus: false },
}
