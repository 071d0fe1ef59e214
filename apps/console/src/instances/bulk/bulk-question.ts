import type { Instance } from '@berth/contract/instances'
import type { BulkInstance } from '../bulk-send.ts'
import type { BulkInstanceAction, BulkPlan } from './bulk-plan.ts'

/** A question as it was put: a machine that stops meanwhile changes neither it nor who is meant. */
export interface Question extends BulkPlan {
  action: BulkInstanceAction
}

/** What every question about many instances gets. */
export interface AskProps {
  question: Question
  /** With those that it is to be done to. */
  onConfirm: (items: readonly BulkInstance[]) => void
  onCancel: () => void
}

/**
 * An instance as something is asked of it.
 * @param price_micro What it is confirmed with, where it buys something.
 */
export function itemOf(instance: Instance, price_micro: string | null = null): BulkInstance {
  return { key: instance.instance_id, name: instance.name, instance, price_micro }
}
