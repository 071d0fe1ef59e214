import type { InstanceReasonCode } from '@berth/contract/instance-codes'
import type { InstanceStatus } from '@berth/contract/instance-states'
import type {
  CommandEnd,
  GuestTrouble,
  HostDrain,
  MachineStatus,
  StopCause,
} from '../../../drivers/compute/port/machines.ts'
import { isFinal, reasonOf } from '../codes.ts'
import {
  type DeletionRow,
  type DeletionStep,
  deletionStepOf,
  nextDeletionStep,
} from '../deletion/deletion-rules.ts'
import { type OwnDiskColumns, ownDiskOf } from '../own-disk.ts'
import type { InstanceRow } from '../rows.ts'
import { nextStop, type Spent, type StopRule, type StopRules, stopRuleOf } from '../stop-rules.ts'
import { nextTermStep, type TermRow, type TermStep, termStepOf } from '../terms/term-rules.ts'
import type { ReconcileLimits } from './limits.ts'

/** The machine as the driver just said, or `unreachable` when it did not answer. */
export type Observed = MachineStatus | { state: 'unreachable' }

/** The columns of a row that a plan depends on. */
export type PlanRow = Pick<
  InstanceRow,
  | 'desired'
  | 'restartsAsked'
  | 'restartsDone'
  | 'status'
  | 'mayRun'
  | 'reasonCode'
  | 'progress'
  | 'commandEnd'
  | 'gpuUuids'
  | 'observedAt'
  | 'statusSince'
  | 'attempts'
  | 'failureCode'
  | 'failureDetail'
  | 'nextAttemptAt'
  | 'terminatedAt'
  | 'volumeChanged'
  | keyof OwnDiskColumns
  | keyof StopRules
  | keyof TermRow
  | keyof DeletionRow
>

/** Everything that a plan is made from. */
export interface Situation {
  row: PlanRow
  observed: Observed
  now: Date
  /** What its rules are held against, where it has some. */
  spent: Spent
  /** Since when this process looks after instances: time before it counts against nobody. */
  watchedSince: Date
  limits: ReconcileLimits
}

/** By itself, with its command as its customer wants, or by its engine for that reason. */
export type ExitCause = 'exited' | StopCause

/** What is amiss with a machine that runs on: with the system in it, or with the computer that it is on. */
export interface RunningTrouble {
  code: GuestTrouble['code'] | 'node_draining' | 'node_draining_fixed'
  /** What the machine says itself. */
  detail: string
}

/** The one thing to do next. */
export type Step =
  /** Nothing until then. */
  | { kind: 'wait'; until: Date }
  /** The driver takes the row over: the change of status is a step of its own, so that its notice cuts no pull short. */
  | { kind: 'begin_pull' }
  | { kind: 'pull' }
  /** Make the machine where it is missing, else give it the spec that is wanted now, and start it. */
  | { kind: 'boot' }
  /** See whether the machine really works; if so it is ready. */
  | { kind: 'probe' }
  /** It is ready and waits: let it run what its customer wants. */
  | { kind: 'begin' }
  /** The machine runs as it should: note when that was seen. */
  | { kind: 'confirm_running'; until: Date }
  /** The machine runs, and says that its command has ended. */
  | { kind: 'note_command_end'; end: CommandEnd }
  /** The machine runs, and something is amiss with it or its computer, or is not any more. */
  | { kind: 'note_trouble'; trouble: RunningTrouble | null }
  /** The stopping half of a restart. */
  | { kind: 'cycle' }
  | { kind: 'stop' }
  /** What is paid for in advance is over, or about to be. */
  | TermStep
  /** It stays stopped: its deletion is announced, or due. */
  | DeletionStep
  /** What its customer told it to be stopped by has come. */
  | { kind: 'stop_by_rule'; rule: StopRule }
  | { kind: 'remove' }
  /** Nothing runs any more, and the machine goes on from there. */
  | { kind: 'confirm_halted' }
  | { kind: 'confirm_stopped' }
  /** The machine is gone: so is what it has beside that, then the instance. */
  | { kind: 'confirm_terminated' }
  /** What is attached to it has changed while it does not run: its machine takes that on, where there is one. */
  | { kind: 'respec'; hasMachine: boolean }
  /** The real GPUs of a failed instance are used by nothing any more. */
  | { kind: 'clear_gpus' }
  | { kind: 'mark_exited'; exitCode: number | null; cause: ExitCause }
  | { kind: 'mark_unknown' }
  /** A machine that was out of sight runs. */
  | { kind: 'mark_seen' }
  /** A machine that ended while no gateway was there to keep it: start it again. */
  | { kind: 'bring_back' }
  | { kind: 'fail'; reason: InstanceReasonCode; detail: string }

/** Where something runs, or is about to. */
const STOPPABLE: readonly InstanceStatus[] = ['creating', 'pulling', 'running', 'restarting']

/**
 * What to do next for one instance. Pure: no clock, no I/O, no mutation; the executor checks again that it
 * still applies.
 */
export function planInstance(situation: Situation): Step {
  const step = planStep(situation)
  if (step.kind !== 'wait' && step.kind !== 'confirm_running') return step
  // Whatever it waits for, the end of its term, or of the days that it is kept, is not to be late.
  const { row, now } = situation
  const moments = [step.until, nextTermStep(row, now), nextDeletionStep(row, now)]
  const until = Math.min(...moments.map(moment => moment?.getTime() ?? Number.POSITIVE_INFINITY))
  return { ...step, until: new Date(until) }
}

function planStep(situation: Situation): Step {
  const { row, now } = situation
  if (row.terminatedAt) return settled(situation)
  if (row.desired === 'terminated') return planRemoval(situation)
  const term = termStepOf(row, now)
  if (term) return term
  const deletion = deletionStepOf(row, now)
  if (deletion) return deletion
  if (row.desired === 'stopped') return planStop(situation)
  const rule = ruleOf(situation)
  if (rule) return { kind: 'stop_by_rule', rule }
  switch (row.status) {
    case 'running':
    case 'unknown':
      return planKeep(situation)
    case 'creating':
    case 'pulling':
    case 'restarting':
      return row.restartsDone < row.restartsAsked ? planCycle(situation) : planStart(situation)
    default:
      return settled(situation)
  }
}

function planRemoval(situation: Situation): Step {
  const { row, observed } = situation
  const isGone = observed.state === 'absent'
  if (isGone && !ownDiskOf(row)) return { kind: 'confirm_terminated' }
  // An error is shown once; the removal goes on being tried behind it.
  if (row.status === 'deleting' && isOverdue(situation)) {
    return { kind: 'fail', reason: 'remove_failed', detail: row.failureDetail ?? '' }
  }
  const pause = backingOff(situation) ?? silent(situation)
  if (pause) return pause
  // Removing what it stored may take long: it is not charged for that. Where it cannot be stopped, it is removed as it is.
  if (row.mayRun && row.failureCode === null)
    return { kind: observed.state === 'running' ? 'stop' : 'confirm_halted' }
  // What it has beside its machine is removed after that.
  return { kind: isGone ? 'confirm_terminated' : 'remove' }
}

function planStop(situation: Situation): Step {
  const { row, observed } = situation
  const runs = observed.state === 'running'
  if (row.status === 'stopping') {
    if (!runs && observed.state !== 'unreachable') return { kind: 'confirm_stopped' }
    if (isOverdue(situation)) return { kind: 'fail', reason: 'stop_failed', detail: row.failureDetail ?? '' }
    return backingOff(situation) ?? silent(situation) ?? { kind: 'stop' }
  }
  // A machine that runs although it should not: half made when its start failed, or started late by a call
  // that had been given up.
  if (runs) return backingOff(situation) ?? { kind: 'stop' }
  if (row.status === 'error') {
    if (observed.state === 'unreachable') return wait(situation, lastOf(situation.limits.backoffMs))
    if (row.reasonCode === 'stop_failed') return { kind: 'confirm_stopped' }
    if (row.gpuUuids.length > 0) return { kind: 'clear_gpus' }
  }
  if (row.volumeChanged) {
    const pause = backingOff(situation) ?? silent(situation)
    return pause ?? { kind: 'respec', hasMachine: observed.state !== 'absent' }
  }
  return settled(situation)
}

function planCycle(situation: Situation): Step {
  const { observed } = situation
  if (observed.state === 'absent') return machineLost
  if (isHopeless(situation)) return failStart(situation)
  return backingOff(situation) ?? silent(situation) ?? { kind: 'cycle' }
}

function planStart(situation: Situation): Step {
  const { row, observed, watchedSince } = situation
  const step = row.progress?.step ?? 'scheduled'
  if (observed.state === 'absent' && row.status === 'restarting') return machineLost
  // It was started and has ended before it was ready: its command is done, or cannot run. Unless that happened
  // while no gateway was there, when the machine may have ended with its computer.
  if (observed.state === 'stopped' && step === 'probing') {
    if (row.statusSince >= watchedSince || observed.cause === 'command_ended') return markExited(observed)
  }
  if (isHopeless(situation)) return failStart(situation)
  const pause = backingOff(situation) ?? silent(situation)
  if (pause) return pause
  // One that ran before this start was made has another spec, perhaps: it is stopped, to take on the new one.
  if (observed.state === 'running') return { kind: step === 'scheduled' ? 'stop' : 'probe' }
  if (observed.state === 'absent' && (step === 'scheduled' || step === 'pulling')) {
    return { kind: row.status === 'pulling' ? 'pull' : 'begin_pull' }
  }
  return { kind: 'boot' }
}

/** A machine that is to go on running, or that is to be found again. */
function planKeep(situation: Situation): Step {
  const { row, observed, now, watchedSince, limits } = situation
  const seenAt = row.observedAt ?? row.statusSince
  switch (observed.state) {
    case 'running': {
      if (row.status === 'unknown') return { kind: 'mark_seen' }
      if (observed.waits) {
        const isGivenUp = isFinal(row.failureCode) || row.attempts >= limits.attemptsMax
        return isGivenUp ? failStart(situation) : (backingOff(situation) ?? { kind: 'begin' })
      }
      if (observed.command_end && isNews(situation, observed.command_end)) {
        return { kind: 'note_command_end', end: observed.command_end }
      }
      const trouble = troubleOf(observed)
      if ((trouble?.code ?? null) !== row.reasonCode) return { kind: 'note_trouble', trouble }
      return { kind: 'confirm_running', until: nextLook(situation) }
    }
    case 'unreachable':
      if (row.status === 'running' && now.getTime() - seenAt.getTime() >= limits.silentMs) {
        return { kind: 'mark_unknown' }
      }
      return wait(situation, row.status === 'unknown' ? limits.observeMs : limits.silentPauseMs)
    case 'absent':
      return machineLost
    case 'created':
    case 'stopped':
      // What ended with its command as its customer wanted is not started again, whoever watched.
      if (observed.state === 'stopped' && observed.cause === 'command_ended') return markExited(observed)
      if (seenAt < watchedSince) return { kind: 'bring_back' }
      return markExited(observed)
  }
}

const DRAIN_CODES = { movable: 'node_draining', fixed: 'node_draining_fixed' } as const satisfies Record<
  HostDrain,
  RunningTrouble['code']
>

/** That its computer is about to go is more than that its own system is silent. */
function troubleOf({
  guest_trouble,
  host_drain,
}: MachineStatus & { state: 'running' }): RunningTrouble | null {
  return host_drain ? { code: DRAIN_CODES[host_drain], detail: '' } : (guest_trouble ?? null)
}

/** Whether the end of a command is one that the row lacks. A command may end every second: the row follows as often as it is looked at. */
function isNews({ row, now, limits }: Situation, end: CommandEnd): boolean {
  const { commandEnd: known } = row
  if (!known) return true
  if (known.count === end.count && known.ended_at === end.ended_at.toISOString()) return false
  return now.getTime() - Date.parse(known.noted_at) >= limits.observeMs
}

/** What stops an instance by itself. One that is out of sight costs nothing: it is stopped once it is seen. */
function ruleOf({ row, now, spent }: Situation): StopRule | null {
  return STOPPABLE.includes(row.status) ? stopRuleOf(row, now, spent) : null
}

/** When a machine that runs is looked at again: what stops it by itself is not to be late. */
function nextLook({ row, now, spent, limits }: Situation): Date {
  const usual = after(now, limits.observeMs)
  const stop = nextStop(row, now, spent)
  return stop && stop < usual ? stop : usual
}

function markExited(observed: Observed): Step {
  if (observed.state !== 'stopped') return { kind: 'mark_exited', exitCode: null, cause: 'exited' }
  return { kind: 'mark_exited', exitCode: observed.exit_code, cause: observed.cause ?? 'exited' }
}

const machineLost: Step = { kind: 'fail', reason: 'machine_lost', detail: '' }

function isHopeless({ row, limits, ...rest }: Situation): boolean {
  return isFinal(row.failureCode) || row.attempts >= limits.attemptsMax || isOverdue({ row, limits, ...rest })
}

function failStart({ row, observed }: Situation): Step {
  const silentDriver = observed.state === 'unreachable' ? 'compute_unavailable' : 'timed_out'
  const reason = row.failureCode ? reasonOf(row.failureCode) : silentDriver
  return { kind: 'fail', reason, detail: row.failureDetail ?? '' }
}

function isOverdue({ row, now, watchedSince, limits }: Situation): boolean {
  const longest = limits.statusMs[row.status]
  if (longest === undefined) return false
  const since = Math.max(row.statusSince.getTime(), watchedSince.getTime())
  return now.getTime() - since >= longest
}

function backingOff({ row, now }: Situation): Step | null {
  return row.failureCode && row.nextAttemptAt > now ? { kind: 'wait', until: row.nextAttemptAt } : null
}

function silent(situation: Situation): Step | null {
  const { row, observed, limits } = situation
  if (observed.state !== 'unreachable') return null
  return wait(situation, row.status === 'error' ? lastOf(limits.backoffMs) : limits.silentPauseMs)
}

function settled(situation: Situation): Step {
  return wait(situation, situation.limits.settledMs)
}

function wait({ now }: Situation, pauseMs: number): Step {
  return { kind: 'wait', until: after(now, pauseMs) }
}

function after(moment: Date, ms: number): Date {
  return new Date(moment.getTime() + ms)
}

function lastOf(list: readonly [number, ...number[]]): number {
  return list.at(-1) ?? list[0]
}
