/**
 * What happened to an instance; keys of the console's texts. A code is never used again for something else, since
 * receipts show old events.
 */
export const INSTANCE_EVENT_CODES = [
  'deployed',
  'pulling',
  'booting',
  'ready',
  'started_by_customer',
  'restarted_by_customer',
  'stopped_by_customer',
  'stopped_no_balance',
  'stopped_at_time',
  'stopped_at_limit',
  'stopped',
  'terminated_by_customer',
  'terminated',
  'exited',
  'failed',
  'lost_sight',
  'seen_again',
  'gateway_stopped',
  'gateway_restarted',
  'renamed',
  'stop_rules_changed',
  'command_ended',
  'guest_silent',
  'guest_unprepared',
] as const
export type InstanceEventCode = (typeof INSTANCE_EVENT_CODES)[number]

/** Why an instance is in its status; keys of the console's texts. */
export const INSTANCE_REASON_CODES = [
  'image_unavailable',
  'image_not_found',
  'image_needs_login',
  'image_login_refused',
  'image_login_gone',
  'image_unfit',
  'image_damaged',
  'registry_unreachable',
  'registry_busy',
  'registry_slow',
  'unsupported',
  'engine_unavailable',
  'exhausted',
  'no_room',
  'port_taken',
  'start_failed',
  'stop_failed',
  'remove_failed',
  'timed_out',
  'machine_lost',
  'compute_unavailable',
  'exited',
  'command_ended',
  'disk_full',
  'balance_used_up',
  'stop_time_reached',
  'spend_limit_reached',
  'driver_silent',
  'engine_away',
  'gateway_restarted',
  'guest_silent',
  'guest_unprepared',
] as const
export type InstanceReasonCode = (typeof INSTANCE_REASON_CODES)[number]

/** What a customer should know of a machine; keys of the console's texts. */
export const MACHINE_NOTE_CODES = [
  'walls_namespaces',
  'walls_container',
  'walls_own_kernel',
  'walls_virtual_machine',
  'walls_emulated_machine',
  'walls_none',
  'walls_told_otherwise',
  'no_cpu_limit',
  'no_memory_limit',
  'no_disk_limit',
  'no_egress_filter',
  'root_shared',
  'one_user',
  'internet',
  'no_internet',
  'small_host',
] as const
export type MachineNoteCode = (typeof MACHINE_NOTE_CODES)[number]
