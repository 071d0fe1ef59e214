import {
  billingObstacle,
  CHANGING_STATUSES,
  type InstanceAction,
  type InstanceKind,
  type InstanceStatus,
  instanceCan,
} from '@berth/contract/instance-states'
import { type InstanceChange, startInstance } from '@berth/contract/instances'
import { and, eq, inArray, isNull } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import type { Events } from '../../../platform/events/events.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { earlierResult, keepResult } from '../../../platform/once.ts'
import type { Billing } from '../../billing/billing.ts'
import type { Budgets } from '../../budgets/budgets.ts'
import { forCustomer, noteMachinesStopped } from '../../customers/customers.ts'
import type { Fleet } from '../../fleet/fleet.ts'
import type { Images } from '../../images/images.ts'
import type { PublicIps } from '../../public-ips/public-ips.ts'
import type { Regions } from '../../regions/regions.ts'
import type { SshKeys } from '../../ssh-keys/ssh-keys.ts'
import type { Volumes } from '../../volumes/volumes.ts'
import { type Change, changeStatus, type StatusDeps } from '../change-status.ts'
import { instancesInTrouble } from '../events.ts'
import type { Quotes } from '../offer/quotes.ts'
import { beginRemoval } from '../removal.ts'
import { changeOf, type InstanceRow, PROGRESS, shownStatus } from '../rows.ts'
import { isUsedUp } from '../stop-rules.ts'
import { instance } from '../tables.ts'
import { reserve } from './reserve.ts'

export interface ActionDeps {
  db: Database
  clock: Clock
  billing: Billing
  budgets: Pick<Budgets, 'requireRoom' | 'stopped'>
  regions: Pick<Regions, 'offer' | 'stock'>
  publicIps: PublicIps
  quotes: Pick<Quotes, 'rates' | 'term' | 'requireDirectPorts'>
  fleet: Pick<Fleet, 'isReached' | 'place'>
  images: Pick<Images, 'ofInstance'>
  events: Pick<Events, 'emit'>
  volumes: Pick<Volumes, 'requireUsable' | 'requireReady' | 'find'>
  sshKeys: Pick<SshKeys, 'requireOwn'>
}

/** An instance as its customer names it. */
export interface Target {
  userId: string
  instanceId: string
}

/**
 * Stops an instance. It is charged until its engine has confirmed that nothing runs any more.
 * @throws ApiError `not_found` or `instance_state`.
 */
export function stop(deps: ActionDeps, target: Target): Promise<InstanceChange> {
  return act(deps, target, 'stop', (tx, row, at) =>
    changeStatus(tx, statusDeps(deps), row, {
      status: 'stopping',
      at,
      event: { code: 'stopped_by_customer' },
      patch: { desired: 'stopped', emptiedAt: null },
    }),
  )
}

/** What a start asks for. */
export interface StartWanted {
  specId: string
  gpuCount: number
  /** A start that is repeated with its key does nothing again (B3). */
  idempotencyKey: string
}

/**
 * Starts an instance on the GPUs named, and sets its first hour aside at today's price. The same key again gives the
 * instance as it is then.
 * @throws ApiError `not_found`, `instance_state`, `region_not_supported`, `gpu_spec_unknown`, `gpu_sold_out`,
 *   `insufficient_balance`, `spend_limit_reached`, `budget_reached`, `compute_unavailable`, `volume_state` or `volume_in_use`.
 */
export function start(deps: ActionDeps, target: Target, wanted: StartWanted): Promise<InstanceChange> {
  const call = { userId: target.userId, operation: startInstance.operation, key: wanted.idempotencyKey }
  const isRepeated = async (tx: Transaction) => (await earlierResult(tx, call, deps.clock.now())) !== null
  return act(
    deps,
    target,
    'start',
    async (tx, row, at) => {
      await keepResult(tx, call, row.id)
      return await beginStart(tx, deps, row, { ...wanted, at, event: 'started_by_customer' })
    },
    isRepeated,
  )
}

/**
 * The change of status by which a start begins.
 * @param row As it is under its lock, in a status that may be started.
 * @throws ApiError as `start`, but for `not_found` and `instance_state`.
 */
export async function beginStart(
  tx: Transaction,
  deps: ActionDeps,
  row: InstanceRow,
  how: Omit<StartWanted, 'idempotencyKey'> & {
    at: Date
    event: 'started_by_customer' | 'started_after_topup'
  },
): Promise<InstanceRow> {
  const { at } = how
  await requireUnspent(deps, tx, row)
  if (row.networkVolume) {
    const { userId, id: instanceId, networkVolume } = row
    await deps.volumes.requireUsable(tx, { userId, instanceId, id: networkVolume.id })
  }
  return await changeStatus(tx, statusDeps(deps), row, {
    status: 'creating',
    at,
    event: { code: how.event },
    patch: {
      desired: 'running',
      progress: PROGRESS.scheduled,
      // A restart that was overtaken by a stop, or by the loss of its machine, is over.
      restartsDone: row.restartsAsked,
      // It has done its work, or passed while the instance was stopped.
      ...(row.stopAt && row.stopAt <= at && { stopAt: null }),
      ...(await reserve(deps, tx, row, how, at)),
    },
  })
}

/**
 * Restarts an instance. It keeps its GPUs and its hour set aside, and is not charged from when it has ended until it is
 * ready again.
 * @throws ApiError `not_found` or `instance_state`.
 */
export function restart(deps: ActionDeps, target: Target): Promise<InstanceChange> {
  return act(deps, target, 'restart', (tx, row, at) => beginRestart(tx, deps, row, at))
}

/** The change of status by which a restart begins. @param row As it is under its lock, in a status that may be restarted. */
export function beginRestart(
  tx: Transaction,
  deps: ActionDeps,
  row: InstanceRow,
  at: Date,
): Promise<InstanceRow> {
  return changeStatus(tx, statusDeps(deps), row, {
    status: 'restarting',
    at,
    event: { code: 'restarted_by_customer' },
    patch: { restartsAsked: row.restartsAsked + 1, progress: PROGRESS.booting },
  })
}

/**
 * Removes an instance, from every state. It is listed as `deleting` until the driver has confirmed it.
 * @throws ApiError `not_found`.
 */
export function terminate(deps: ActionDeps, target: Target): Promise<InstanceChange> {
  return act(deps, target, 'terminate', async (tx, row, at) => {
    if (row.status === 'deleting') return row
    return beginRemoval(tx, statusDeps(deps), row, { at, event: 'terminated_by_customer' })
  })
}

/**
 * Stops those of a customer's instances that the balance can pay for no longer; nothing is deleted (B4). Which ones
 * is decided under the wallet's lock, so that money which has arrived meanwhile keeps them running, and an instance
 * whose own hour is still set aside goes on.
 * @returns Ids of the instances that it stops.
 */
export async function stopForEmptyBalance(deps: ActionDeps, userId: string): Promise<string[]> {
  return deps.db.transaction(async tx => {
    await deps.billing.lockWallet(tx, userId)
    const subjects = await deps.billing.exhaustedSubjects(tx, userId)
    const exhausted = subjects.filter(({ kind }) => kind === 'instance').map(({ id }) => id)
    if (exhausted.length === 0) return []
    return stopRunning(tx, deps, userId, {
      ids: exhausted,
      event: 'stopped_no_balance',
      cause: 'balance_used_up',
    })
  })
}

/**
 * Stops those of a customer's instances that a used-up budget covers (B16); terms that are paid in advance run on. Which
 * ones is decided under the wallet's lock, so that a budget that was raised meanwhile keeps them running.
 * @returns Ids of the instances that it stops.
 */
export async function stopForBudget(deps: ActionDeps, userId: string): Promise<string[]> {
  return deps.db.transaction(async tx => {
    await deps.billing.lockWallet(tx, userId)
    const ids = await deps.budgets.stopped(tx, userId)
    if (ids.length === 0) return []
    return stopRunning(tx, deps, userId, { ids, event: 'stopped_at_budget', cause: 'budget_reached' })
  })
}

/**
 * Stops an instance that has nothing left to pay for what it sends, on demand or in a term: nothing else would stop
 * it in the midst of one. The caller holds the wallet's lock.
 * @returns Its id, where it ran.
 */
export function stopForTraffic(
  tx: Transaction,
  deps: ActionDeps,
  { userId, instanceId }: Target,
): Promise<string[]> {
  return stopRunning(tx, deps, userId, {
    ids: [instanceId],
    event: 'stopped_no_balance',
    cause: 'balance_used_up',
    inTerms: true,
  })
}

/**
 * Stops what runs of a suspended customer, terms that are paid in advance too, when its time has come (R6.5).
 * @returns Ids of the instances that it stops; none where the customer was let in again meanwhile.
 */
export async function stopForSuspension(deps: ActionDeps, userId: string): Promise<string[]> {
  return deps.db.transaction(async tx => {
    if (!(await noteMachinesStopped(tx, userId, deps.clock.now()))) return []
    await deps.billing.lockWallet(tx, userId)
    return stopRunning(tx, deps, userId, { ids: 'all', ...BY_OPERATOR, inTerms: true })
  })
}

/** Stops some of a customer's instances because the operator wants it (R6.5). @returns Ids of those that ran. */
export async function stopByOperator(
  deps: ActionDeps,
  { userId, ids }: { userId: string; ids: string[] },
): Promise<string[]> {
  return deps.db.transaction(async tx => {
    await deps.billing.lockWallet(tx, userId)
    return stopRunning(tx, deps, userId, { ids, ...BY_OPERATOR, inTerms: true })
  })
}

/**
 * Starts some of a customer's instances again, on other computers of their engines, because the operator wants it: those alone
 * whose own is being taken out of service, and that take along what they have stored. They keep their claims on the stock, and
 * are charged as one that its customer restarts.
 * @returns Ids of those that are moved.
 */
export async function moveByOperator(
  deps: ActionDeps,
  { userId, ids }: { userId: string; ids: string[] },
): Promise<string[]> {
  return deps.db.transaction(async tx => {
    await deps.billing.lockWallet(tx, userId)
    const rows = await tx
      .select()
      .from(instance)
      .where(
        and(
          eq(instance.userId, userId),
          inArray(instance.id, ids),
          eq(instance.desired, 'running'),
          eq(instance.status, 'running'),
          eq(instance.reasonCode, 'node_draining'),
          // What an image is being made of goes on until that is made.
          isNull(instance.buildingImageId),
          isNull(instance.terminatedAt),
        ),
      )
      .orderBy(instance.id)
      .for('update')
    return changeAll(tx, deps, { userId, rows, cause: 'moved_by_operator' }, row => ({
      status: 'restarting',
      event: { code: 'moved_by_operator' },
      patch: { restartsAsked: row.restartsAsked + 1, progress: PROGRESS.booting },
    }))
  })
}

const BY_OPERATOR = { event: 'stopped_by_operator', cause: 'stopped_by_operator' } as const

/** Stops those of a customer's instances that run, and tells of it. @returns Their ids. */
async function stopRunning(
  tx: Transaction,
  deps: ActionDeps,
  userId: string,
  which: {
    ids: 'all' | string[]
    event: 'stopped_no_balance' | 'stopped_at_budget' | 'stopped_by_operator'
    cause: Exclude<Cause, 'moved_by_operator'>
    /** Also those that are paid for in advance. */
    inTerms?: boolean
  },
): Promise<string[]> {
  const rows = await tx
    .select()
    .from(instance)
    .where(
      and(
        eq(instance.userId, userId),
        which.ids === 'all' ? undefined : inArray(instance.id, which.ids),
        eq(instance.desired, 'running'),
        which.inTerms ? undefined : eq(instance.billingType, 'postpay'),
        // Whatever it is doing: what runs is to be paid for, also in the midst of a restart.
        eq(instance.mayRun, true),
        isNull(instance.terminatedAt),
      ),
    )
    .orderBy(instance.id)
    .for('update')
  return changeAll(tx, deps, { userId, rows, cause: which.cause }, (_row, at) => ({
    status: 'stopping',
    event: { code: which.event },
    patch: { desired: 'stopped', ...(which.cause === 'balance_used_up' && { emptiedAt: at }) },
  }))
}

/** Why instances are changed that their customer did not ask for. */
type Cause = 'balance_used_up' | 'budget_reached' | 'stopped_by_operator' | 'moved_by_operator'

/** Changes a customer's instances that it did not ask for, and has the customer told. @returns Their ids. */
async function changeAll(
  tx: Transaction,
  deps: ActionDeps,
  { userId, rows, cause }: { userId: string; rows: InstanceRow[]; cause: Cause },
  changeTo: (row: InstanceRow, at: Date) => Omit<Change, 'at' | 'reason'>,
): Promise<string[]> {
  if (rows.length === 0) return []
  const at = deps.clock.now()
  for (const row of rows) {
    const change = { ...changeTo(row, at), at, reason: { code: cause, detail: '' } }
    await changeStatus(tx, statusDeps(deps), row, change)
  }
  const instances = rows.map(({ id, name }) => ({ id, name }))
  await deps.events.emit(tx, instancesInTrouble, { userId, at: at.toISOString(), cause, instances })
  return rows.map(({ id }) => id)
}

export function statusDeps({ billing, regions, publicIps }: ActionDeps): StatusDeps {
  return { billing, stock: regions.stock, publicIps }
}

/**
 * Removes what a customer whose account is deleted wrote into instances: variables, which often hold secrets, and
 * commands. Rows and events stay, for receipts.
 */
export async function forgetTexts(tx: Transaction, userId: string): Promise<void> {
  await tx.update(instance).set({ env: {}, startCommand: '' }).where(eq(instance.userId, userId))
}

/**
 * Takes the locks, checks owner, state and how it is paid for, and does the rest in the same transaction.
 * @param isDone Whether this very call was carried out before, so that the row is its answer.
 */
export async function act(
  { db, billing, clock }: ActionDeps,
  { userId, instanceId }: Target,
  action: InstanceAction,
  run: (tx: Transaction, row: InstanceRow, at: Date) => Promise<InstanceRow>,
  isDone: (tx: Transaction) => Promise<boolean> = async () => false,
): Promise<InstanceChange> {
  const row = await db.transaction(async tx => {
    await forCustomer(tx, userId)
    await billing.lockWallet(tx, userId)
    const [found] = await tx
      .select()
      .from(instance)
      .where(and(eq(instance.id, instanceId), eq(instance.userId, userId), isNull(instance.terminatedAt)))
      .for('update')
    if (!found) throw new ApiError('not_found')
    if (await isDone(tx)) return found
    const status = shownStatus(found)
    if (!instanceCan(action, { kind: found.kind, status })) throw refusalOf(action, found.kind, status)
    const obstacle = billingObstacle(action, {
      billing_type: found.billingType,
      expiry_time: found.expiryTime,
    })
    if (obstacle) throw new ApiError(obstacle)
    return run(tx, found, clock.now())
  })
  return changeOf(row)
}

/** A POD image is made only while it runs, a VM image only while it is stopped: that is said in words of its own (R4.6). */
function refusalOf(action: InstanceAction, kind: InstanceKind, status: InstanceStatus): ApiError {
  const isBusy = CHANGING_STATUSES.includes(status)
  if (action !== 'create_image' || isBusy) return new ApiError('instance_state', { values: { status } })
  return new ApiError(kind === 'POD' ? 'create_image_pod' : 'create_image_vm')
}

/** One that has cost what it may cost would be stopped again as soon as it runs. */
async function requireUnspent(
  { billing, budgets }: Pick<ActionDeps, 'billing' | 'budgets'>,
  tx: Transaction,
  { id, userId, spendLimitCents, billingType }: InstanceRow,
): Promise<void> {
  // A limit keeps what is paid for in advance from further terms, not from those that are paid.
  if (billingType === 'prepay') return
  await budgets.requireRoom(tx, { userId, instanceId: id })
  if (spendLimitCents === null) return
  const cost = await billing.costMicro(tx, 'instance', [id])
  if (isUsedUp(spendLimitCents, cost.get(id) ?? 0n)) throw new ApiError('spend_limit_reached')
}
