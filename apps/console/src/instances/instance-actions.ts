import type { Call } from '@berth/contract/call'
import { getInstanceSetup } from '@berth/contract/deploy-templates'
import {
  type AddressedInstance,
  addressObstacle,
  billingObstacle,
  type InstanceAction,
  type InstanceKind,
  type InstanceStatus,
  instanceCan,
  statusesFor,
} from '@berth/contract/instance-states'
import { convertChargeType, renewInstance, toggleRenewal } from '@berth/contract/instance-terms'
import {
  editInstance,
  getConnection,
  getInstanceLogs,
  type Instance,
  listInstanceEvents,
  restartInstance,
  startInstance,
  stopInstance,
  terminateInstance,
} from '@berth/contract/instances'
import { createImage } from '@berth/contract/own-images'
import { bindPublicIp, unbindPublicIp } from '@berth/contract/public-ip-calls'
import { attachVolume, detachVolume } from '@berth/contract/volume-attach-calls'

/** What a row offers, in the order of its menu: the actions of the state table that have a call, and what can always be read. */
export const ROW_ACTIONS = [
  'connect',
  'start',
  'stop',
  'restart',
  'edit',
  'renew',
  'toggle_renewal',
  'convert_charge_type',
  'bind_public_ip',
  'unbind_public_ip',
  'attach_volume',
  'detach_volume',
  'create_image',
  'events',
  'logs',
  'repeat',
  'terminate',
] as const
export type RowAction = (typeof ROW_ACTIONS)[number]

/** What decides over an instance's actions. */
export interface ActionSubject {
  kind: InstanceKind
  status: InstanceStatus
}

/**
 * The one action that a row shows as a button: what one most likely wants of an instance in its status.
 * @param subject An instance.
 */
export function primaryAction(subject: ActionSubject): Extract<RowAction, 'connect' | 'start' | 'events'> {
  if (instanceCan('connect', subject)) return 'connect'
  // Starting again may be the way out of an error too, but first one wants to know what happened.
  return instanceCan('start', subject) && subject.status !== 'error' ? 'start' : 'events'
}

/**
 * Why an action is off (R4.5).
 * @param action Of a row; events, the log and what it was deployed with can always be read.
 * @param subject An instance.
 * @returns Null when it is allowed; else the statuses in which it would be.
 */
export function allowedOnlyIn(
  action: RowAction,
  subject: ActionSubject & PaidSubject,
): readonly InstanceStatus[] | null {
  const asked = tableAction(action, subject)
  if (asked === null || instanceCan(asked, subject)) return null
  return statusesFor(asked, subject.kind)
}

const READS = ['events', 'logs', 'repeat'] as const
const isRead = (action: RowAction): action is (typeof READS)[number] => READS.some(read => read === action)

/** How an instance is paid for, as far as it decides over its actions. */
export type PaidSubject = Pick<Instance, 'billing_type' | 'expiry_time' | 'auto_renew'>

/**
 * Whether an action is of any use to an instance: what runs on demand has nothing to be renewed, and of an address of its
 * own, and of a network volume, one is had or given back. Virtual machines have no such volumes.
 */
export function isOffered(
  action: RowAction,
  {
    billing_type,
    eip,
    kind,
    disks,
  }: Pick<PaidSubject, 'billing_type'> & Pick<AddressedInstance, 'eip'> & Pick<Instance, 'kind' | 'disks'>,
): boolean {
  if (action === 'attach_volume') return kind === 'POD' && disks.network_volume === null
  if (action === 'detach_volume') return disks.network_volume !== null
  const isBound = eip?.type === 'dedicated'
  if (action === 'bind_public_ip') return !isBound
  if (action === 'unbind_public_ip') return isBound
  return billing_type === 'prepay' || (action !== 'renew' && action !== 'toggle_renewal')
}

/** The action of the state table that a row's comes to: one entry of the menu may go either way. */
export function tableAction(action: RowAction, paid: PaidSubject): InstanceAction | null {
  if (isRead(action)) return null
  if (action === 'toggle_renewal' && paid.auto_renew) return 'cancel_renewal'
  if (action === 'convert_charge_type' && paid.billing_type === 'postpay') return 'switch_to_subscription'
  return action
}

/** Why the way in which it is paid for keeps an action from an instance, as an error code (R4.5); null: it does not. */
export function paidObstacle(action: RowAction, paid: PaidSubject): ReturnType<typeof billingObstacle> {
  const asked = tableAction(action, paid)
  return asked && billingObstacle(asked, paid)
}

/** Why its address, or its ports, keep an action from an instance, as an error code (R4.5); null: they do not. */
export function ipObstacle(
  action: RowAction,
  subject: PaidSubject & AddressedInstance,
): ReturnType<typeof addressObstacle> {
  const asked = tableAction(action, subject)
  return asked && addressObstacle(asked, subject)
}

/** The call that stands behind each action; its audience says who may take it (R4.2). */
export const CALLS_BEHIND = {
  connect: getConnection,
  start: startInstance,
  stop: stopInstance,
  restart: restartInstance,
  edit: editInstance,
  renew: renewInstance,
  toggle_renewal: toggleRenewal,
  convert_charge_type: convertChargeType,
  bind_public_ip: bindPublicIp,
  unbind_public_ip: unbindPublicIp,
  attach_volume: attachVolume,
  detach_volume: detachVolume,
  create_image: createImage,
  events: listInstanceEvents,
  logs: getInstanceLogs,
  repeat: getInstanceSetup,
  terminate: terminateInstance,
} as const satisfies Record<RowAction, Call>

/** Whether an action is only for customers with a verified address. */
export function needsVerified(action: RowAction): boolean {
  return CALLS_BEHIND[action].audience === 'verified'
}
