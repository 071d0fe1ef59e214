import { restartInstance, startInstance, stopInstance, terminateInstance } from '@berth/contract/instances'
import { sendChanges } from '../api/change-many.ts'
import { session } from '../app/session/session.ts'
import { type BulkItem, type BulkRun, createBulkRuns } from '../lists/bulk-run.ts'
import type { BulkInstanceAction } from './bulk/bulk-plan.ts'

/** An instance, and what it is started on. */
export interface BulkInstance extends BulkItem {
  gpu_spec_id: string
  gpu_count: number
}

/** What is done to many instances; it goes on when the page is left. */
export const instanceRuns = createBulkRuns<BulkInstanceAction, BulkInstance>()

/** How each action is sent: one call for each instance, as if its own button had been pressed (B3). */
const SEND: Record<BulkInstanceAction, Parameters<typeof instanceRuns.begin>[2]> = {
  start: (items, options) =>
    sendChanges(startInstance, {
      ...options,
      changes: items.map(({ key, gpu_spec_id, gpu_count }) => ({
        key,
        input: { body: { instance_id: key, gpu_spec_id, gpu_count } },
      })),
    }),
  stop: (items, options) => sendChanges(stopInstance, { ...options, changes: items.map(byId) }),
  restart: (items, options) => sendChanges(restartInstance, { ...options, changes: items.map(byId) }),
  terminate: (items, options) => sendChanges(terminateInstance, { ...options, changes: items.map(byId) }),
}

/**
 * Begins an action. Whoever signs out meanwhile ends it, and nobody else sees what it was.
 * @returns How it ended; null where nobody is to be told.
 */
export function beginBulk(
  action: BulkInstanceAction,
  items: readonly BulkInstance[],
): Promise<BulkRun<BulkInstanceAction, BulkInstance> | null> {
  const owner = session().getState().user?.id
  const unsubscribe = session().subscribe(() => {
    if (session().getState().user?.id === owner) return
    unsubscribe()
    instanceRuns.forget()
  })
  return instanceRuns.begin(action, items, SEND[action])
}

function byId({ key }: BulkItem) {
  return { key, input: { params: { id: key } } }
}
