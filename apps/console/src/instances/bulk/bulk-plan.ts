import type { Instance } from '@berth/contract/instances'
import { allowedOnlyIn, isOffered, paidObstacle, type RowAction } from '../instance-actions.ts'

/** What can be done to many instances at once, in the order of its bar: what needs no answer of its own for each of them. */
export const BULK_ACTIONS = [
  'start',
  'stop',
  'restart',
  'renew',
  'renewal_on',
  'renewal_off',
  'terminate',
] as const
export type BulkInstanceAction = (typeof BULK_ACTIONS)[number]

/** The entry of a row's menu that each comes to: one entry may go either way, and many go one way together. */
export const ROW_ACTION_OF = {
  start: 'start',
  stop: 'stop',
  restart: 'restart',
  renew: 'renew',
  renewal_on: 'toggle_renewal',
  renewal_off: 'toggle_renewal',
  terminate: 'terminate',
} as const satisfies Record<BulkInstanceAction, RowAction>

/** Which of some instances an action goes with, by the one state table (R4.4). */
export interface BulkPlan {
  able: readonly Instance[]
  unable: readonly Instance[]
}

/**
 * Parts instances into those that allow an action and those that do not.
 * @param instances In the order that they are to keep.
 */
export function bulkPlan(action: BulkInstanceAction, instances: readonly Instance[]): BulkPlan {
  const row = ROW_ACTION_OF[action]
  const isAble = (one: Instance) =>
    allowedOnlyIn(row, one) === null && paidObstacle(row, one) === null && !isDoneAlready(action, one)
  return { able: instances.filter(isAble), unable: instances.filter(one => !isAble(one)) }
}

/** Whether the renewal of an instance is already what an action would make it. */
export function isDoneAlready(
  action: BulkInstanceAction,
  { auto_renew }: Pick<Instance, 'auto_renew'>,
): boolean {
  return (action === 'renewal_on' && auto_renew) || (action === 'renewal_off' && !auto_renew)
}

/** What is of use to at least one of some instances: where all are on demand nothing is renewed. */
export function offeredTo(instances: readonly Instance[]): readonly BulkInstanceAction[] {
  return BULK_ACTIONS.filter(action => instances.some(one => isOffered(ROW_ACTION_OF[action], one)))
}

export const MICRO_PER_CENT = 10_000n

/** The sum of amounts in micro-units. */
export function sumMicro(amounts: readonly string[]): bigint {
  return amounts.reduce((sum, amount) => sum + BigInt(amount), 0n)
}
