import type { InstanceReasonCode } from '@berth/contract/instance-codes'
import type { ComputeErrorCode } from '../../drivers/compute/port/compute-error.ts'

/** What the last try of a step failed with. */
export type FailureCode = ComputeErrorCode | 'timed_out'

/** Failures that another try cannot mend. */
const FINAL: ReadonlySet<string> = new Set<FailureCode>([
  'unsupported',
  'image_unavailable',
  'image_not_found',
  'image_needs_login',
  'image_login_refused',
  'image_login_gone',
  'image_not_allowed',
  'image_unfit',
  'image_damaged',
  'name_taken',
])

/**
 * Whether another try of the step is of no use.
 * @param code What the step failed with.
 */
export function isFinal(code: string | null): boolean {
  return code !== null && FINAL.has(code)
}

const REASON_OF: Record<FailureCode, InstanceReasonCode> = {
  unsupported: 'unsupported',
  image_unavailable: 'image_unavailable',
  image_not_found: 'image_not_found',
  image_needs_login: 'image_needs_login',
  image_login_refused: 'image_login_refused',
  image_login_gone: 'image_login_gone',
  image_not_allowed: 'image_not_allowed',
  image_unfit: 'image_unfit',
  image_damaged: 'image_damaged',
  registry_busy: 'registry_busy',
  registry_slow: 'registry_slow',
  registry_unreachable: 'registry_unreachable',
  name_taken: 'name_taken',
  port_taken: 'port_taken',
  not_running: 'start_failed',
  no_tar: 'start_failed',
  port_closed: 'start_failed',
  no_shell: 'start_failed',
  guest_closed: 'start_failed',
  guest_refused: 'start_failed',
  outdated: 'start_failed',
  not_found: 'start_failed',
  exhausted: 'exhausted',
  no_room: 'no_room',
  unschedulable: 'unschedulable',
  quota_reached: 'quota_reached',
  engine_unavailable: 'engine_unavailable',
  failed: 'start_failed',
  timed_out: 'timed_out',
}

/**
 * The reason that a start's failure gives to its instance.
 * @param code What the last try failed with, as the row keeps it.
 */
export function reasonOf(code: string): InstanceReasonCode {
  return REASON_OF[code as FailureCode] ?? 'start_failed'
}
