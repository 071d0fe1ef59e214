import { CHANGING_STATUSES } from '@berth/contract/instance-states'
import type { Instance } from '@berth/contract/instances'

/** While something changes it is followed by the second; otherwise only now and then. */
const POLL_CHANGING_MS = 1_000
const POLL_RESTING_MS = 10_000

/**
 * When to ask for instances again, in milliseconds.
 * @param instances The last answer; undefined before the first.
 */
export function pollMs(instances: readonly Pick<Instance, 'status'>[] | undefined): number {
  const changing = instances?.some(({ status }) => CHANGING_STATUSES.includes(status))
  return changing ? POLL_CHANGING_MS : POLL_RESTING_MS
}
