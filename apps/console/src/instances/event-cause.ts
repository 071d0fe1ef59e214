import type { InstanceEventCode } from '@berth/contract/instance-codes'

/** Who or what makes things happen to an instance: its customer, a rule, its machine, or whoever runs machines. */
export type EventCause = 'customer' | 'rule' | 'machine' | 'platform'

/** Total over the codes: a new one does not compile until it has a cause. */
const CAUSES: Record<InstanceEventCode, EventCause> = {
  deployed: 'customer',
  pulling: 'platform',
  booting: 'platform',
  ready: 'machine',
  started_by_customer: 'customer',
  started_after_topup: 'rule',
  resume_changed: 'customer',
  restarted_by_customer: 'customer',
  stopped_by_customer: 'customer',
  stopped_by_operator: 'platform',
  node_draining: 'platform',
  node_draining_fixed: 'platform',
  moved_by_operator: 'platform',
  stopped_no_balance: 'rule',
  stopped_at_time: 'rule',
  stopped_at_limit: 'rule',
  stopped_at_budget: 'rule',
  deletion_announced_unpaid: 'rule',
  deleted_unpaid: 'rule',
  public_ip_unpaid: 'rule',
  stopped_when_idle: 'rule',
  stopped: 'platform',
  terminated_by_customer: 'customer',
  terminated: 'platform',
  exited: 'machine',
  failed: 'platform',
  lost_sight: 'platform',
  seen_again: 'platform',
  gateway_stopped: 'platform',
  gateway_restarted: 'platform',
  renamed: 'customer',
  stop_rules_changed: 'customer',
  ports_changed: 'customer',
  env_changed: 'customer',
  command_changed: 'customer',
  ssh_keys_changed: 'customer',
  command_ended: 'machine',
  guest_silent: 'machine',
  guest_unprepared: 'machine',
  term_begun: 'customer',
  // By the renewal that its customer has left on.
  term_renewed: 'rule',
  renewed_by_customer: 'customer',
  term_ended_early: 'customer',
  term_unpaid: 'rule',
  renewal_on: 'customer',
  renewal_off: 'customer',
  released_at_expiry: 'rule',
  public_ip_bound: 'customer',
  // The instance was removed or never became ready.
  public_ip_given_back: 'rule',
  public_ip_unbound: 'customer',
  volume_attached: 'customer',
  volume_detached: 'customer',
  image_begun: 'customer',
  image_made: 'platform',
  image_not_made: 'platform',
  deletion_announced: 'rule',
  deleted_when_stopped: 'rule',
  ports_used_up: 'platform',
  out_of_memory: 'machine',
}

/**
 * Who or what caused an event of an instance.
 * @param code Of the event; one that a newer gateway knows and this console does not is the platform's.
 */
export function causeOf(code: InstanceEventCode): EventCause {
  return CAUSES[code] ?? 'platform'
}
