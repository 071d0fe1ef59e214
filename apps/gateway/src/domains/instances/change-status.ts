import assert from 'node:assert/strict'
import type { InstanceEventCode, InstanceReasonCode } from '@berth/contract/instance-codes'
import { type InstanceStatus, STATUS_FOLLOWS } from '@berth/contract/instance-states'
import { eq, sql } from 'drizzle-orm'
import type { Transaction } from '../../platform/database/database.ts'
import { notify } from '../../platform/database/open-database.ts'
import type { Billing } from '../billing/billing.ts'
import type { InstanceRow } from './rows.ts'
import { MEANING } from './status-meaning.ts'
import { instance, instanceEvent } from './tables.ts'

/** The channel on which an instance's id is told when it has changed. */
export const INSTANCE_CHANNEL = 'instance'

export type StatusBilling = Pick<Billing, 'openInterval' | 'closeInterval' | 'releaseHold'>

export interface Change {
  status: InstanceStatus
  at: Date
  event: { code: InstanceEventCode; detail?: string }
  reason?: { code: InstanceReasonCode; detail: string }
  /** Where metering of what went before ends; without it at `at`. */
  billedUntil?: Date
  /** Columns that change with the status. */
  patch?: Partial<Pick<InstanceRow, ChangeableColumn>>
}

type ChangeableColumn =
  | 'desired'
  | 'restartsAsked'
  | 'startKey'
  | 'progress'
  | 'driver'
  | 'installationId'
  | 'readyAt'
  | 'stoppedAt'
  | 'observedAt'
  | 'terminatedAt'
  | 'gpuUuids'
  | 'gpuCount'
  | 'gpuSpecId'
  | 'spec'
  | 'simulated'
  | 'holdsGpus'
  | 'runningMicroPerHour'
  | 'stoppedMicroPerHour'

/**
 * Changes an instance's status, with all that follows from it: metering, the hold, the GPUs, the event, the
 * notice to other replicas. The caller holds the locks: first the wallet's, then the row's.
 * @param row The row as it is under that lock.
 * @returns The row as it is now.
 */
export async function changeStatus(
  tx: Transaction,
  billing: StatusBilling,
  row: InstanceRow,
  change: Change,
): Promise<InstanceRow> {
  const { status, at, patch = {} } = change
  const follows = row.status === status || STATUS_FOLLOWS[row.status].includes(status)
  assert(follows, `an instance that is ${row.status} does not become ${status}`)
  const meaning = MEANING[status]
  const [changed] = await tx
    .update(instance)
    .set({
      holdsGpus: row.holdsGpus && meaning.gpus,
      readyAt: null,
      stoppedAt: null,
      progress: null,
      ...patch,
      status,
      reasonCode: change.reason?.code ?? null,
      reasonDetail: change.reason?.detail ?? null,
      statusSince: at,
      nextAttemptAt: at,
      attempts: 0,
      failureCode: null,
      failureDetail: null,
      version: sql`${instance.version} + 1`,
    })
    .where(eq(instance.id, row.id))
    .returning()
  assert(changed, `instance ${row.id} vanished under its lock`)
  await bill(tx, billing, row, changed, change)
  await addEvent(tx, changed, { at, ...change.event })
  await notify(tx, INSTANCE_CHANNEL, row.id)
  return changed
}

/** Writes down what happened to an instance. */
export async function addEvent(
  tx: Transaction,
  row: Pick<InstanceRow, 'id' | 'userId' | 'status'>,
  event: { at: Date; code: InstanceEventCode; detail?: string },
): Promise<void> {
  await tx.insert(instanceEvent).values({
    instanceId: row.id,
    userId: row.userId,
    at: event.at,
    status: row.status,
    code: event.code,
    detail: event.detail ?? '',
  })
}

async function bill(
  tx: Transaction,
  billing: StatusBilling,
  before: InstanceRow,
  row: InstanceRow,
  change: Change,
): Promise<void> {
  const key = { userId: row.userId, instanceId: row.id }
  const was = MEANING[before.status]
  const is = MEANING[row.status]
  if (was.usage) await billing.closeInterval(tx, { ...key, at: change.billedUntil ?? change.at })
  const rateMicroPerHour = is.usage === 'disk' ? row.stoppedMicroPerHour : row.runningMicroPerHour
  if (is.usage && !row.terminatedAt && rateMicroPerHour > 0n) {
    await billing.openInterval(tx, {
      ...key,
      usage: is.usage,
      rateMicroPerHour,
      instanceName: row.name,
      gpuSpecName: row.spec.name,
      gpuCount: row.gpuCount,
      at: change.at,
    })
  }
  if (was.hold && !is.hold) await billing.releaseHold(tx, key)
}
