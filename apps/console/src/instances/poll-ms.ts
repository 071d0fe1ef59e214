import { CHANGING_STATUSES } from '@berth/contract/instance-states'
import type { Instance } from '@berth/contract/instances'

/** While something changes it is followed by the second; otherwise only now and then. */
const POLL_CHANGING_MS = 1_000
const POLL_RESTING_MS = 10_000
/** What changes comes by itself, but what it costs goes on without any change. */
const POLL_LIVE_MS = 30_000

/**
 * When to ask for instances again, in milliseconds.
 * @param instances The last answer; undefined before the first.
 * @param isLive Whether what changes comes by itself.
 */
export function pollMs(instances: readonly Pick<Instance, 'status'>[] | undefined, isLive: boolean): number {
  if (isLive) return POLL_LIVE_MS
  const changing = instances?.some(({ status }) => CHANGING_STATUSES.includes(status))
  return changing ? POLL_CHANGING_MS : POLL_RESTING_MS
}
