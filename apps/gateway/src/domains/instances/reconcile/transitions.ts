import type { ChargeCycle } from '@berth/contract/charge-terms'
import type { InstanceEventCode, InstanceReasonCode } from '@berth/contract/instance-codes'
import { eq } from 'drizzle-orm'
import type { CommandEnd } from '../../../drivers/compute/port/machines.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import type { Events } from '../../../platform/events/events.ts'
import type { Billing } from '../../billing/billing.ts'
import type { PublicIps } from '../../public-ips/public-ips.ts'
import type { Stock } from '../../regions/regions.ts'
import { addEvent, type Change, changeStatus, giveBackStock, noteMayRun } from '../change-status.ts'
import { instancesInTrouble } from '../events.ts'
import { type InstanceRow, NO_FAILURE, PROGRESS } from '../rows.ts'
import type { StopRule } from '../stop-rules.ts'
import { instance } from '../tables.ts'
import { termEnd } from '../terms/term-rules.ts'
import type { ReconcileLimits } from './limits.ts'
import type { ExitCause, RunningTrouble } from './plan.ts'
import type { Store } from './store.ts'

type Outcome = Promise<InstanceRow | null>

/** Events of one start in which its command ended, at most so often. */
const COMMAND_TOLD_MS = 3_600_000

const EVENT_OF_RULE: Record<StopRule, InstanceEventCode> = {
  stop_time_reached: 'stopped_at_time',
  spend_limit_reached: 'stopped_at_limit',
  idle: 'stopped_when_idle',
}

/** Why something else than its customer's call stopped it: that is said as long as it is stopped. */
const OUTLIVES_STOP: readonly InstanceReasonCode[] = [
  'balance_used_up',
  'stop_time_reached',
  'spend_limit_reached',
  'budget_reached',
  'idle',
  'term_unpaid',
  'stopped_by_operator',
]

/** How late a look may be: the poll's pause and the driver's answer come on top of when it is due. */
const LATE_LOOK_MS = 2_000

/**
 * Every change of status that the reconciler makes, each in one short transaction. All give the row as it is
 * then, or null when it was changed meanwhile and nothing was done.
 */
export interface Transitions {
  /** Its engine makes its image available. */
  pulling(row: InstanceRow): Outcome
  /** The image is there. */
  booting(row: InstanceRow): Outcome
  /** The machine answers: metering begins (B2, B6). */
  ready(row: InstanceRow): Outcome
  /** Its machine is about to be started, and does not wait: what its customer left in there runs from now on. */
  starting(row: InstanceRow): Outcome
  /** The driver has confirmed that nothing runs for now: in the midst of a restart, or before a removal. */
  halted(row: InstanceRow): Outcome
  /** A rule of its customer's stops it (B5): it is charged until nothing runs any more, as if they had stopped it. */
  stoppedByRule(row: InstanceRow, rule: StopRule): Outcome
  /** The driver has confirmed that nothing runs. */
  stopped(row: InstanceRow): Outcome
  /** The driver has confirmed that nothing is left. */
  terminated(row: InstanceRow): Outcome
  /** Its machine ended by itself or by its engine; it is kept like a stopped one. */
  exited(row: InstanceRow, how: { exitCode: number | null; cause: ExitCause }): Outcome
  /** Its command has ended, and its machine runs. An event tells it at once, and then once an hour. */
  commandEnded(row: InstanceRow, end: CommandEnd): Outcome
  /** Something is amiss with its machine or that one's computer, or is not any more; the machine runs, and is charged. */
  troubled(row: InstanceRow, trouble: RunningTrouble | null): Outcome
  /** Its engine does not answer, or nobody reaches it: not charged from when it was last seen. */
  lostSight(row: InstanceRow, reason: 'driver_silent' | 'engine_away'): Outcome
  seenAgain(row: InstanceRow): Outcome
  /** Its machine ended while no gateway was there: it is started again. */
  bringBack(row: InstanceRow): Outcome
  /** Real GPUs that it was given and that nothing uses any more, after all, are free for others. */
  gpusCleared(row: InstanceRow): Outcome
  /** Given up with a cause: it costs nothing from there. */
  failed(row: InstanceRow, failure: { reason: InstanceReasonCode; detail: string }): Outcome
}

export function createTransitions(deps: {
  clock: Clock
  billing: Billing
  stock: Stock
  publicIps: PublicIps
  store: Store
  limits: Pick<ReconcileLimits, 'observeMs' | 'stopChargedMs'>
  events: Pick<Events, 'emit'>
}): Transitions {
  const { clock, billing, stock, publicIps, store, limits, events } = deps

  function change(
    row: InstanceRow,
    make: (fresh: InstanceRow, at: Date) => Omit<Change, 'at'> & { at?: Date },
  ): Outcome {
    return store.withLocks(row, async (tx, fresh) => {
      const at = clock.now()
      const changed = await changeStatus(tx, { billing, stock, publicIps }, fresh, { at, ...make(fresh, at) })
      await tellTrouble(tx, fresh, changed)
      return changed
    })
  }

  function mayRun(
    row: InstanceRow,
    make: (fresh: InstanceRow, at: Date) => Omit<Parameters<typeof noteMayRun>[3], 'at'>,
  ): Outcome {
    return store.withLocks(row, (tx, fresh) => {
      const at = clock.now()
      return noteMayRun(tx, { billing }, fresh, { at, ...make(fresh, at) })
    })
  }

  /** Where the charge of a machine ends that was asked to end, and has. */
  function endOf({ statusSince }: InstanceRow, at: Date): Date {
    return new Date(Math.min(at.getTime(), statusSince.getTime() + limits.stopChargedMs))
  }

  /** The customer hears of it once, when it comes about; what fails while it is removed is the operator's trouble. */
  async function tellTrouble(tx: Transaction, before: InstanceRow, row: InstanceRow): Promise<void> {
    const { id, userId, status, name, reasonCode, statusSince: at } = row
    if (status === before.status || row.desired === 'terminated') return
    const isLimit = status === 'stopping' && reasonCode === 'spend_limit_reached'
    const cause = isLimit ? reasonCode : status
    if (cause !== 'error' && cause !== 'exited' && cause !== 'spend_limit_reached') return
    const trouble = { userId, at: at.toISOString(), cause, instances: [{ id, name }] }
    await events.emit(tx, instancesInTrouble, trouble)
  }

  return {
    pulling: row =>
      change(row, () => ({
        status: 'pulling',
        event: { code: 'pulling' },
        patch: { progress: PROGRESS.pulling },
      })),
    booting: row =>
      change(row, () => ({
        status: 'creating',
        event: { code: 'booting' },
        patch: { progress: PROGRESS.booting },
      })),
    ready: row =>
      change(row, (fresh, at) => ({
        status: 'running',
        event: { code: 'ready' },
        ...(beginsTerm(fresh) && { termFrom: at }),
        patch: {
          ...(beginsTerm(fresh) && { expiryTime: termEnd(fresh.chargeCycle, at) }),
          progress: PROGRESS.ready,
          readyAt: at,
          observedAt: at,
          commandEnd: null,
          commandToldAt: null,
          // It was made with all that was changed before: nothing is edited while it starts.
          changesWait: false,
        },
      })),
    starting: row => mayRun(row, () => ({ mayRun: true })),
    halted: row =>
      mayRun(row, (fresh, at) => ({
        mayRun: false,
        billedUntil: endOf(fresh, at),
        patch: {
          ...NO_FAILURE,
          ...(fresh.status === 'restarting' && {
            restartsDone: fresh.restartsAsked,
            progress: PROGRESS.booting,
          }),
        },
      })),
    stoppedByRule: (row, rule) =>
      change(row, fresh => ({
        status: 'stopping',
        event: { code: EVENT_OF_RULE[rule] },
        reason: { code: rule, detail: '' },
        patch: {
          desired: 'stopped',
          // It has done its work; the limit goes on until its customer changes it.
          stopAt: rule === 'stop_time_reached' ? null : fresh.stopAt,
        },
      })),
    stopped: row =>
      change(row, (fresh, at) => ({
        status: 'stopped',
        event: { code: 'stopped' },
        billedUntil: endOf(fresh, at),
        ...(fresh.reasonCode &&
          OUTLIVES_STOP.includes(fresh.reasonCode) && {
            reason: { code: fresh.reasonCode, detail: '' },
          }),
        patch: { stoppedAt: at, gpuUuids: [] },
      })),
    terminated: row =>
      change(row, (fresh, at) => ({
        status: 'deleting',
        event: { code: 'terminated' },
        billedUntil: endOf(fresh, at),
        patch: { mayRun: false, terminatedAt: at, gpuUuids: [] },
      })),
    exited: (row, { exitCode, cause }) =>
      change(row, (fresh, at) => ({
        status: 'exited',
        event: { code: 'exited', detail: exitDetail(exitCode) },
        reason: { code: cause, detail: exitDetail(exitCode) },
        billedUntil: lastLook(fresh, at, limits.observeMs),
        patch: { desired: 'stopped', stoppedAt: at, gpuUuids: [] },
      })),
    commandEnded: (row, end) =>
      store.withLocks(row, async (tx, fresh) => {
        const at = clock.now()
        const told = fresh.commandToldAt
        const isDue = told === null || at.getTime() - told.getTime() >= COMMAND_TOLD_MS
        const [noted] = await tx
          .update(instance)
          .set({
            commandEnd: {
              exit_code: end.exit_code,
              ended_at: end.ended_at.toISOString(),
              count: end.count,
              again_at: end.again_at?.toISOString() ?? null,
              noted_at: at.toISOString(),
            },
            ...(isDue && { commandToldAt: at }),
          })
          .where(eq(instance.id, fresh.id))
          .returning()
        if (isDue)
          await addEvent(tx, fresh, { at: end.ended_at, code: 'command_ended', detail: endDetail(end) })
        return noted ?? null
      }),
    troubled: (row, trouble) =>
      store.withLocks(row, async (tx, fresh) => {
        const [noted] = await tx
          .update(instance)
          .set({ reasonCode: trouble?.code ?? null, reasonDetail: trouble?.detail ?? null })
          .where(eq(instance.id, fresh.id))
          .returning()
        if (trouble) await addEvent(tx, fresh, { at: clock.now(), ...trouble })
        return noted ?? null
      }),
    lostSight: (row, reason) =>
      change(row, (fresh, at) => ({
        status: 'unknown',
        event: { code: 'lost_sight' },
        reason: { code: reason, detail: '' },
        billedUntil: lastSeen(fresh, at),
      })),
    seenAgain: row =>
      change(row, (_, at) => ({
        status: 'running',
        event: { code: 'seen_again' },
        patch: { progress: PROGRESS.ready, readyAt: at, observedAt: at },
      })),
    bringBack: row =>
      change(row, (fresh, at) => ({
        status: 'restarting',
        event: { code: 'gateway_restarted' },
        reason: { code: 'gateway_restarted', detail: '' },
        billedUntil: lastSeen(fresh, at),
        patch: { mayRun: false, progress: PROGRESS.booting },
      })),
    gpusCleared: row =>
      store.withLocks(row, async (tx, fresh) => {
        const [cleared] = await tx
          .update(instance)
          .set({ gpuUuids: [] })
          .where(eq(instance.id, fresh.id))
          .returning()
        if (cleared) await giveBackStock(tx, { stock }, cleared)
        return cleared ?? null
      }),
    failed: (row, { reason, detail }) =>
      change(row, (fresh, at) => ({
        status: 'error',
        event: { code: 'failed', detail: detail ? `${reason}: ${detail}` : reason },
        reason: { code: reason, detail },
        billedUntil: lastSeen(fresh, at),
        // What could not be removed is still to be removed.
        patch: fresh.desired === 'terminated' ? {} : { desired: 'stopped' },
      })),
  }
}

/** Whether its first term begins once it is ready. */
function beginsTerm(row: InstanceRow): row is InstanceRow & { chargeCycle: ChargeCycle } {
  return row.billingType === 'prepay' && row.expiryTime === null && row.chargeCycle !== null
}

/**
 * When the driver last confirmed that it runs, or its customer asked for something else: what came after may not have
 * run, and is not charged.
 */
function lastSeen({ observedAt, statusSince }: InstanceRow, at: Date): Date {
  const seen = observedAt && observedAt > statusSince ? observedAt : statusSince
  return seen < at ? seen : at
}

/**
 * Where the charge of a machine that ended by itself ends: now, if it was watched all the time, for then it has
 * ended just now. Otherwise a command that ends between two looks would never be charged.
 */
function lastLook(row: InstanceRow, at: Date, observeMs: number): Date {
  const seen = lastSeen(row, at)
  return at.getTime() - seen.getTime() <= observeMs + LATE_LOOK_MS ? at : seen
}

function exitDetail(exitCode: number | null): string {
  return exitCode === null ? '' : `exit code ${exitCode}`
}

function endDetail({ exit_code, count }: CommandEnd): string {
  return count === 1 ? exitDetail(exit_code) : `${exitDetail(exit_code)}, ${count} times`
}
