import type { Call } from '@berth/contract/call'
import {
  type InstanceAction,
  type InstanceKind,
  type InstanceStatus,
  instanceCan,
  statusesFor,
} from '@berth/contract/instance-states'
import {
  editInstance,
  getConnection,
  getInstanceLogs,
  listInstanceEvents,
  restartInstance,
  startInstance,
  stopInstance,
  terminateInstance,
} from '@berth/contract/instances'

/** What a row offers, in the order of its menu: the actions of the state table that have a call, and what can always be read. */
export const ROW_ACTIONS = [
  'connect',
  'start',
  'stop',
  'restart',
  'edit',
  'events',
  'logs',
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
 * @param action Of a row; events and the log can always be read.
 * @param subject An instance.
 * @returns Null when it is allowed; else the statuses in which it would be.
 */
export function allowedOnlyIn(action: RowAction, subject: ActionSubject): readonly InstanceStatus[] | null {
  const asked: InstanceAction | null = isRead(action) ? null : action
  if (asked === null || instanceCan(asked, subject)) return null
  return statusesFor(asked, subject.kind)
}

const isRead = (action: RowAction): action is 'events' | 'logs' => action === 'events' || action === 'logs'

/** The call that stands behind each action; its audience says who may take it (R4.2). */
export const CALLS_BEHIND = {
  connect: getConnection,
  start: startInstance,
  stop: stopInstance,
  restart: restartInstance,
  edit: editInstance,
  events: listInstanceEvents,
  logs: getInstanceLogs,
  terminate: terminateInstance,
} as const satisfies Record<RowAction, Call>

/** Whether an action is only for customers with a verified address. */
export function needsVerified(action: RowAction): boolean {
  return CALLS_BEHIND[action].audience === 'verified'
}
