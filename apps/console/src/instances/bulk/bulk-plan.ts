import type { Instance } from '@berth/contract/instances'
import { allowedOnlyIn, paidObstacle, type RowAction } from '../instance-actions.ts'

/** What can be done to many instances at once, in the order of its bar: what needs no answer of its own for each of them. */
export const BULK_ACTIONS = ['start', 'stop', 'restart', 'terminate'] as const satisfies readonly RowAction[]
export type BulkInstanceAction = (typeof BULK_ACTIONS)[number]

/** Which of some instances an action goes with, by the one state table (R4.4). */
export interface BulkPlan {
  able: readonly Instance[]
  unable: readonly Instance[]
}

/**
 * Parts instances into those that allow an action and those that do not.
 * @param instances In the order that they are to keep.
 */
export function bulkPlan(action: RowAction, instances: readonly Instance[]): BulkPlan {
  const isAble = (one: Instance) => allowedOnlyIn(action, one) === null && paidObstacle(action, one) === null
  return { able: instances.filter(isAble), unable: instances.filter(one => !isAble(one)) }
}

/** The sum of amounts in micro-units. */
export function sumMicro(amounts: readonly string[]): bigint {
  return amounts.reduce((sum, amount) => sum + BigInt(amount), 0n)
}
