import { renewInstance, toggleRenewal } from '@berth/contract/instance-terms'
import {
  type Instance,
  restartInstance,
  startInstance,
  stopInstance,
  terminateInstance,
} from '@berth/contract/instances'
import { sendChanges } from '../api/change-many.ts'
import { session } from '../app/session/session.ts'
import { type BulkItem, type BulkRun, createBulkRuns } from '../lists/bulk-run.ts'
import type { BulkInstanceAction } from './bulk/bulk-plan.ts'

/** An instance as it was when something was asked of it. */
export interface BulkInstance extends BulkItem {
  instance: Instance
  /** The price that it is confirmed with, in micro-units; null where nothing is bought. */
  price_micro: string | null
}

/** What is done to many instances; it goes on when the page is left. */
export const instanceRuns = createBulkRuns<BulkInstanceAction, BulkInstance>()

type Send = Parameters<typeof instanceRuns.begin>[2]

/** How each action is sent: one call for each instance, as if its own button had been pressed (B3). */
const SEND: Record<BulkInstanceAction, Send> = {
  start: (items, options) =>
    sendChanges(startInstance, {
      ...options,
      changes: items.map(({ key, instance: { gpu_spec_id, gpu_count } }) => ({
        key,
        input: { body: { instance_id: key, gpu_spec_id, gpu_count } },
      })),
    }),
  stop: (items, options) => sendChanges(stopInstance, { ...options, changes: items.map(byId) }),
  restart: (items, options) => sendChanges(restartInstance, { ...options, changes: items.map(byId) }),
  renew: (items, options) =>
    sendChanges(renewInstance, {
      ...options,
      changes: items.flatMap(({ key, price_micro }) =>
        // What was shown no price is not bought.
        price_micro === null ? [] : { key, input: { body: { instance_id: key, price_micro } } },
      ),
    }),
  renewal_on: toggleTo(true),
  renewal_off: toggleTo(false),
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

function toggleTo(auto_renew: boolean): Send {
  return (items, options) =>
    sendChanges(toggleRenewal, {
      ...options,
      changes: items.map(({ key }) => ({ key, input: { body: { instance_id: key, auto_renew } } })),
    })
}
