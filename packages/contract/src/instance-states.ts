/**
 * The one table of instance states and actions (R4.4, R4.5): the gateway enforces it, the console disables
 * buttons and explains them from it, the tests enumerate it.
 */
export const INSTANCE_STATUSES = [
  'running',
  'restarting',
  'stopped',
  'stopping',
  'exited',
  'pulling',
  'imageBuilding',
  'error',
  'creating',
  'deleting',
  'unknown',
] as const
export type InstanceStatus = (typeof INSTANCE_STATUSES)[number]

export const INSTANCE_ACTIONS = [
  'start',
  'stop',
  'restart',
  'terminate',
  'edit',
  'connect',
  'create_image',
  'bind_public_ip',
  'unbind_public_ip',
  'attach_volume',
  'detach_volume',
  'renew',
  'cancel_renewal',
  'switch_to_subscription',
  'toggle_renewal',
  'convert_charge_type',
] as const
export type InstanceAction = (typeof INSTANCE_ACTIONS)[number]

export type InstanceKind = 'POD' | 'VM'

const every = INSTANCE_STATUSES
/** All but a machine on its way out: what concerns the contract, not the machine. */
const notDeleting = INSTANCE_STATUSES.filter(status => status !== 'deleting')

const ALLOWED: Record<InstanceAction, readonly InstanceStatus[]> = {
  // `exited` and `error` hold no GPU and cost no GPU time, so starting again is the way out of both.
  start: ['stopped', 'exited', 'error'],
  stop: ['running', 'restarting', 'creating', 'pulling', 'unknown'],
  // A restart takes no new GPUs and reserves nothing, so only a machine that holds both may have one.
  restart: ['running'],
  // Delete is allowed from every state; on `deleting` it changes nothing.
  terminate: every,
  edit: ['running', 'stopped', 'exited', 'error'],
  connect: ['running'],
  create_image: ['running', 'stopped'],
  bind_public_ip: ['running', 'stopped', 'exited'],
  unbind_public_ip: ['running', 'stopped', 'exited', 'error'],
  // A machine has what it was started with: what is attached meanwhile would not be there before its next start.
  attach_volume: ['stopped', 'exited', 'error'],
  detach_volume: ['stopped', 'exited', 'error'],
  renew: notDeleting,
  cancel_renewal: notDeleting,
  // A term begins at once and keeps its GPUs, so only what has its GPUs may be switched to one.
  switch_to_subscription: ['running'],
  toggle_renewal: notDeleting,
  convert_charge_type: ['running', 'stopped', 'exited', 'error'],
}

/**
 * What an action on how an instance is paid for wants of that: `prepay` or `postpay`, and whether a term must have
 * begun. Actions that are not named go with any.
 */
const PAID: Partial<Record<InstanceAction, { billing: 'postpay' | 'prepay'; begun: boolean }>> = {
  renew: { billing: 'prepay', begun: true },
  cancel_renewal: { billing: 'prepay', begun: false },
  toggle_renewal: { billing: 'prepay', begun: false },
  switch_to_subscription: { billing: 'postpay', begun: false },
  convert_charge_type: { billing: 'prepay', begun: true },
}

/**
 * Why the way in which an instance is paid for keeps an action from it; null: it does not.
 * @returns The error that the gateway refuses the action with, whose text says it.
 */
export function billingObstacle(
  action: InstanceAction,
  instance: { billing_type: 'postpay' | 'prepay'; expiry_time: string | Date | null },
): 'not_prepaid' | 'already_prepaid' | 'term_not_begun' | null {
  const wanted = PAID[action]
  if (!wanted) return null
  if (instance.billing_type !== wanted.billing) {
    return wanted.billing === 'prepay' ? 'not_prepaid' : 'already_prepaid'
  }
  return wanted.begun && instance.expiry_time === null ? 'term_not_begun' : null
}

/** What of an instance decides whether it may get, or give back, an address of its own. */
export interface AddressedInstance {
  eip: { type: 'shared' | 'dedicated' } | null
  tcp_ports: readonly number[]
  udp_ports: readonly number[]
}

/**
 * Why the address of an instance keeps an action from it; null: it does not.
 * @returns The error that the gateway refuses the action with, whose text says it.
 */
export function addressObstacle(
  action: InstanceAction,
  { eip, tcp_ports, udp_ports }: AddressedInstance,
): 'public_ip_bound' | 'public_ip_not_bound' | 'public_ip_no_ports' | null {
  const isBound = eip?.type === 'dedicated'
  if (action === 'unbind_public_ip') return isBound ? null : 'public_ip_not_bound'
  if (action !== 'bind_public_ip') return null
  if (isBound) return 'public_ip_bound'
  // Only direct ports are reached at an address; without any it would cost for nothing.
  return tcp_ports.length + udp_ports.length === 0 ? 'public_ip_no_ports' : null
}

/**
 * The statuses from which an action is allowed.
 * @param action The action asked for.
 * @param kind A POD image is made only while it runs, a VM image only while it is stopped (R4.6).
 * @returns Statuses in the table's order; a disabled button's reason is made from them.
 */
export function statusesFor(action: InstanceAction, kind: InstanceKind): readonly InstanceStatus[] {
  if (action === 'create_image') return kind === 'POD' ? ['running'] : ['stopped']
  return ALLOWED[action]
}

/**
 * Whether an instance in a status allows an action.
 * @param action The action asked for.
 * @param instance Its kind and status.
 */
export function instanceCan(
  action: InstanceAction,
  instance: { kind: InstanceKind; status: InstanceStatus },
): boolean {
  return statusesFor(action, instance.kind).includes(instance.status)
}

/**
 * The status that an instance shows from the moment an action is accepted until the machine confirms; null
 * where the action changes no status.
 */
export const STATUS_ON_ACTION: Record<InstanceAction, InstanceStatus | null> = {
  start: 'creating',
  stop: 'stopping',
  restart: 'restarting',
  terminate: 'deleting',
  edit: null,
  connect: null,
  create_image: 'imageBuilding',
  attach_volume: null,
  detach_volume: null,
  bind_public_ip: null,
  unbind_public_ip: null,
  renew: null,
  cancel_renewal: null,
  switch_to_subscription: null,
  toggle_renewal: null,
  convert_charge_type: null,
}

/** Which status may follow which; every change of a row's status is checked against this. */
export const STATUS_FOLLOWS: Record<InstanceStatus, readonly InstanceStatus[]> = {
  creating: ['pulling', 'running', 'exited', 'stopping', 'error', 'deleting', 'unknown'],
  pulling: ['creating', 'running', 'stopping', 'error', 'deleting', 'unknown'],
  running: ['restarting', 'stopping', 'stopped', 'exited', 'imageBuilding', 'error', 'deleting', 'unknown'],
  restarting: ['pulling', 'running', 'stopping', 'exited', 'error', 'deleting', 'unknown'],
  stopping: ['stopped', 'error', 'deleting', 'unknown'],
  stopped: ['creating', 'imageBuilding', 'error', 'deleting'],
  exited: ['creating', 'restarting', 'stopped', 'error', 'deleting'],
  imageBuilding: ['running', 'stopped', 'error', 'deleting', 'unknown'],
  error: ['creating', 'stopped', 'deleting'],
  // A machine that is seen again is in whatever status it was lost in, or has got past it.
  unknown: [
    'creating',
    'pulling',
    'running',
    'restarting',
    'imageBuilding',
    'stopping',
    'stopped',
    'exited',
    'error',
    'deleting',
  ],
  deleting: ['error'],
}

/** Statuses in which something is under way: the console polls fast while an instance is in one. */
export const CHANGING_STATUSES: readonly InstanceStatus[] = [
  'creating',
  'pulling',
  'restarting',
  'stopping',
  'imageBuilding',
  'deleting',
]
