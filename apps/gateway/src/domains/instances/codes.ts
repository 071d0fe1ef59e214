import type { ComputeErrorCode } from '../../drivers/compute/port.ts'

/** Why an instance is in its status; keys of the console's texts. */
export type ReasonCode =
  | 'image_unavailable'
  | 'unsupported'
  | 'engine_unavailable'
  | 'exhausted'
  | 'start_failed'
  | 'stop_failed'
  | 'remove_failed'
  | 'timed_out'
  | 'machine_lost'
  | 'compute_unavailable'
  | 'exited'
  | 'balance_used_up'
  | 'driver_silent'
  | 'gateway_restarted'

/** What happened to an instance; keys of the console's texts. */
export type EventCode =
  | 'deployed'
  | 'pulling'
  | 'booting'
  | 'ready'
  | 'started_by_customer'
  | 'restarted_by_customer'
  | 'stopped_by_customer'
  | 'stopped_no_balance'
  | 'stopped'
  | 'terminated_by_customer'
  | 'terminated'
  | 'exited'
  | 'failed'
  | 'lost_sight'
  | 'seen_again'
  | 'gateway_stopped'
  | 'gateway_restarted'
  | 'renamed'

/** What the last try of a step failed with. */
export type FailureCode = ComputeErrorCode | 'timed_out' | 'compute_unavailable'

/** Failures that another try cannot mend. */
const FINAL: ReadonlySet<string> = new Set<FailureCode>([
  'unsupported',
  'image_unavailable',
  'compute_unavailable',
])

/**
 * Whether another try of the step is of no use.
 * @param code What the step failed with.
 */
export function isFinal(code: string | null): boolean {
  return code !== null && FINAL.has(code)
}

const REASON_OF: Record<FailureCode, ReasonCode> = {
  unsupported: 'unsupported',
  image_unavailable: 'image_unavailable',
  not_running: 'start_failed',
  port_closed: 'start_failed',
  not_found: 'start_failed',
  exhausted: 'exhausted',
  engine_unavailable: 'engine_unavailable',
  failed: 'start_failed',
  timed_out: 'timed_out',
  compute_unavailable: 'compute_unavailable',
}

/**
 * The reason that a start's failure gives to its instance.
 * @param code What the last try failed with, as the row keeps it.
 */
export function reasonOf(code: string): ReasonCode {
  return REASON_OF[code as FailureCode] ?? 'start_failed'
}
