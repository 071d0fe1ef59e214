import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import type { InstanceEventCode, InstanceReasonCode } from '@berth/contract/instance-codes'
import { type InstanceStatus, STATUS_FOLLOWS } from '@berth/contract/instance-states'
import { eq, sql } from 'drizzle-orm'
import type { Transaction } from '../../platform/database/database.ts'
import { notify } from '../../platform/database/open-database.ts'
import type { Billing, Subject } from '../billing/billing.ts'
import type { PublicIps } from '../public-ips/public-ips.ts'
import type { Stock } from '../regions/regions.ts'
import { keptFrom } from './deletion/deletion-rules.ts'
import { outageOf } from './outage.ts'
import { followStatus } from './public-ip/follow.ts'
import type { InstanceRow } from './rows.ts'
import { isHeld, MEANING, metersOf, termMetersOf } from './status-meaning.ts'
import { instance, instanceEvent } from './tables.ts'
import { inTerm, type TermState } from './terms/term-rules.ts'

/** The channel on which an instance's id is told when it has changed. */
export const INSTANCE_CHANNEL = 'instance'

/**
 * The channel on which it is told that something of an instance has changed which its customer sees: the customer's id, a
 * space, the instance's. A trigger of the table tells it of what the row holds, `addEvent` of what it does not.
 */
export const SEEN_CHANNEL = 'instance_seen'

/** Where a change of status has its consequences. */
export interface StatusDeps {
  billing: Pick<
    Billing,
    'openMeters' | 'closeMeters' | 'releaseHold' | 'chargeTerm' | 'endTerm' | 'creditOutage'
  >
  stock: Pick<Stock, 'giveBack'>
  publicIps: Pick<PublicIps, 'boundTo' | 'giveBack' | 'noteCost'>
}

export interface Change {
  status: InstanceStatus
  at: Date
  event: { code: InstanceEventCode; detail?: string }
  reason?: { code: InstanceReasonCode; detail: string }
  /** Where metering of what went before ends; without it at `at`. */
  billedUntil?: Date
  /** A term is bought that begins then, and ends when the row says. */
  termFrom?: Date
  /** Columns that change with the status. */
  patch?: Partial<Pick<InstanceRow, ChangeableColumn>>
}

type ChangeableColumn =
  | 'desired'
  | 'restartsAsked'
  | 'restartsDone'
  | 'progress'
  | 'engineId'
  | 'mayRun'
  | 'commandEnd'
  | 'commandToldAt'
  | 'changesWait'
  | 'readyAt'
  | 'stoppedAt'
  | 'observedAt'
  | 'terminatedAt'
  | 'gpuUuids'
  | 'gpuCount'
  | 'gpuSpecId'
  | 'spec'
  | 'simulated'
  | 'runningMicroPerHour'
  | 'stoppedMicroPerHour'
  | 'trafficMicroPerGb'
  | 'stopAt'
  | 'emptiedAt'
  | BillingColumn

/** Columns that change with how an instance is paid for. */
export type BillingPatch = Partial<
  Pick<
    InstanceRow,
    | BillingColumn
    | 'runningMicroPerHour'
    | 'stoppedMicroPerHour'
    | 'trafficMicroPerGb'
    | 'reasonCode'
    | 'reasonDetail'
  >
>

/** What says how an instance is paid for. */
type BillingColumn =
  | 'billingType'
  | 'chargeCycle'
  | 'expiryTime'
  | 'autoRenew'
  | 'termMicro'
  | 'termDiskMicro'
  | 'termNoticeDay'

/**
 * Changes an instance's status, with all that follows from it: metering, the hold, the GPUs, its address, the event,
 * the notice to other replicas. The caller holds the locks: first the wallet's, then the row's.
 * @param row The row as it is under that lock.
 * @returns The row as it is now.
 */
export async function changeStatus(
  tx: Transaction,
  deps: StatusDeps,
  row: InstanceRow,
  change: Change,
): Promise<InstanceRow> {
  const { status, at, patch = {} } = change
  const follows = row.status === status || STATUS_FOLLOWS[row.status].includes(status)
  assert(follows, `an instance that is ${row.status} does not become ${status}`)
  const [changed] = await tx
    .update(instance)
    .set({
      readyAt: null,
      stoppedAt: null,
      keptUntil: null,
      deletionNoticeDay: null,
      unpaidSince: null,
      // As long as it is to stay stopped it is so for the same cause.
      emptiedAt: (patch.desired ?? row.desired) === 'stopped' ? row.emptiedAt : null,
      resumeTry: null,
      progress: null,
      mayRun: MEANING[status].mayRun ?? row.mayRun,
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
  await giveBackStock(tx, deps, changed)
  await bill(tx, deps.billing, row, changed, change)
  const outage = row.status === status ? null : outageOf(row, at)
  if (outage) await deps.billing.creditOutage(tx, { userId: row.userId, instance: row, ...outage })
  await addEvent(tx, changed, { at, ...change.event })
  const left = await followStatus(tx, deps, changed, at)
  if (left) await addEvent(tx, changed, { at, code: 'public_ip_given_back', detail: left.address })
  await notify(tx, INSTANCE_CHANNEL, row.id)
  return changed
}

/**
 * Notes whether what its customer put into its machine may run, where that changes within a status: what is metered
 * follows. The caller holds the locks: first the wallet's, then the row's.
 * @param row The row as it is under that lock.
 * @param change.patch Columns that change with it.
 * @returns The row as it is now.
 */
export async function noteMayRun(
  tx: Transaction,
  { billing }: Pick<StatusDeps, 'billing'>,
  row: InstanceRow,
  change: {
    mayRun: boolean
    at: Date
    billedUntil?: Date
    patch?: Partial<Pick<InstanceRow, NotableColumn>>
  },
): Promise<InstanceRow> {
  const [changed] = await tx
    .update(instance)
    .set({ ...change.patch, mayRun: change.mayRun })
    .where(eq(instance.id, row.id))
    .returning()
  assert(changed, `instance ${row.id} vanished under its lock`)
  await bill(tx, billing, row, changed, change)
  return changed
}

type NotableColumn = 'progress' | 'restartsDone' | 'attempts' | 'failureCode' | 'failureDetail'

/**
 * Changes how an instance is paid for, within its status: a term is bought, ends early, or both. The caller holds the
 * locks: first the wallet's, then the row's.
 * @param row The row as it is under that lock.
 * @param change.endsTerm What is left of its terms is given back first.
 * @returns The row as it is now.
 * @throws ApiError `insufficient_balance` when less is available than a term costs.
 */
export async function changeBilling(
  tx: Transaction,
  deps: StatusDeps,
  row: InstanceRow,
  change: Pick<Change, 'at' | 'event' | 'termFrom'> & { endsTerm?: boolean; patch: BillingPatch },
): Promise<InstanceRow> {
  const { at, event, patch } = change
  const [changed] = await tx
    .update(instance)
    .set({
      ...patch,
      // What a term has kept is kept from its end as if it had stopped then.
      keptUntil: keptFrom(at),
      deletionNoticeDay: null,
      unpaidSince: null,
      nextAttemptAt: at,
      version: sql`${instance.version} + 1`,
    })
    .where(eq(instance.id, row.id))
    .returning()
  assert(changed, `instance ${row.id} vanished under its lock`)
  await giveBackStock(tx, deps, changed)
  await bill(tx, deps.billing, row, changed, change)
  await addEvent(tx, changed, { at, ...event })
  await notify(tx, INSTANCE_CHANNEL, row.id)
  return changed
}

/** Writes down what happened to an instance, and tells who follows it. */
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
  await notify(tx, SEEN_CHANNEL, `${row.userId} ${row.id}`)
}

/**
 * Gives back what an instance took once nothing can be using it. Simulated GPUs are given back as soon as the status
 * says so; real ones stay out of use until their machine was seen not to run.
 */
export async function giveBackStock(
  tx: Transaction,
  { stock }: Pick<StatusDeps, 'stock'>,
  row: InstanceRow,
): Promise<void> {
  if (!holdsStock(row)) await stock.giveBack(tx, row.id)
}

/** Whether an instance has a claim on the stock: also while it is off, as long as it is paid for in advance. */
export function holdsStock(row: Pick<InstanceRow, 'status' | 'gpuUuids'> & TermState): boolean {
  return row.terminatedAt === null && (MEANING[row.status].gpus || row.gpuUuids.length > 0 || inTerm(row))
}

async function bill(
  tx: Transaction,
  billing: StatusDeps['billing'],
  before: InstanceRow,
  row: InstanceRow,
  change: Pick<Change, 'at' | 'billedUntil' | 'termFrom'> & { endsTerm?: boolean },
): Promise<void> {
  const { at, billedUntil, termFrom } = change
  const key = { userId: row.userId, subject: instanceSubject(row.id) }
  const facts = { gpu_spec_name: row.spec.name, gpu_count: row.gpuCount }
  const ran = metersOf(before)
  const runs = metersOf(row)
  if (change.endsTerm || (isLeaving(row) && !isLeaving(before))) {
    await billing.endTerm(tx, termEndOf(before, billedUntil ?? at))
  }
  // What goes on as before is one stretch: a status alone begins no new one.
  if (billedUntil || !isDeepStrictEqual(ran, runs)) {
    if (ran.meters.length > 0) await billing.closeMeters(tx, { ...key, at: billedUntil ?? at })
    if (runs.meters.length > 0) {
      await billing.openMeters(tx, { ...key, ...runs, name: row.name, facts, at })
    }
  }
  if (termFrom && row.expiryTime) {
    const meters = termMetersOf(row)
    await billing.chargeTerm(tx, {
      ...key,
      name: row.name,
      facts,
      meters,
      from: termFrom,
      until: row.expiryTime,
    })
  }
  if (isHeld(before) && !isHeld(row)) await billing.releaseHold(tx, key)
}

/** What its terms cost that end at a moment: the time that was used of them by what it costs on demand. */
export function termEndOf({ id, userId, runningMicroPerHour }: InstanceRow, at: Date) {
  const usedRate = { rateMicro: runningMicroPerHour, rateSeconds: 3_600 }
  return { userId, subject: instanceSubject(id), at, usedRate }
}

/** It is to be removed, and nothing of it runs any more: what is left of its term is not used. */
function isLeaving({ desired, mayRun }: InstanceRow): boolean {
  return desired === 'terminated' && !mayRun
}

/** An instance as billing knows it. */
export const instanceSubject = (id: string): Subject => ({ kind: 'instance', id })
