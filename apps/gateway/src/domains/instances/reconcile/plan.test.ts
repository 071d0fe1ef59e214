import { INSTANCE_STATUSES } from '@berth/contract/instance-states'
import { expect, test } from 'vitest'
import { PROGRESS } from '../rows.ts'
import { RECONCILE_LIMITS } from './limits.ts'
import { type Observed, type PlanRow, planInstance, type Step } from './plan.ts'

const NOW = new Date('2026-03-10T12:00:00.000Z')
/** Seconds before (negative) or after now. */
const at = (seconds: number) => new Date(NOW.getTime() + seconds * 1_000)

const absent: Observed = { state: 'absent' }
const created: Observed = { state: 'created' }
const running = { state: 'running', started_at: at(-60) } as const
const waiting: Observed = { ...running, waits: true }
const stopped: Observed = { state: 'stopped', exit_code: null }
const crashed: Observed = { state: 'stopped', exit_code: 137 }
const unreachable: Observed = { state: 'unreachable' }

const end = { exit_code: 3, ended_at: at(-30), count: 1, again_at: null }
const noted = ({ ended_at, ...told }: typeof end, seconds: number) => ({
  ...told,
  ended_at: ended_at.toISOString(),
  noted_at: at(seconds).toISOString(),
})

interface Case {
  given: string
  row: Partial<PlanRow>
  observed: Observed
  expected: Step
  /** When this process began to watch; an hour ago unless told otherwise. */
  watchedSince?: Date
  /** Nothing unless told otherwise. */
  costMicro?: bigint
  /** Used a moment ago unless told otherwise. */
  idleSince?: Date | null
}

const failed = (attempts: number, code: string, retryAt: Date): Partial<PlanRow> => ({
  attempts,
  failureCode: code,
  failureDetail: 'the words of the engine',
  nextAttemptAt: retryAt,
})

const starts: Case[] = [
  {
    given: 'a new instance',
    row: { status: 'creating', progress: PROGRESS.scheduled },
    observed: absent,
    expected: { kind: 'begin_pull' },
  },
  {
    given: 'a pull that was interrupted',
    row: { status: 'pulling', progress: PROGRESS.pulling },
    observed: absent,
    expected: { kind: 'pull' },
  },
  {
    given: 'an image that is there',
    row: { status: 'creating', progress: PROGRESS.booting },
    observed: absent,
    expected: { kind: 'boot' },
  },
  {
    given: 'a machine that was made and not started',
    row: { status: 'creating', progress: PROGRESS.booting },
    observed: created,
    expected: { kind: 'boot' },
  },
  {
    given: 'a stopped instance that was started: its image is there, for its machine is',
    row: { status: 'creating', progress: PROGRESS.scheduled },
    observed: stopped,
    expected: { kind: 'boot' },
  },
  {
    given: 'a start of a machine that still runs: it must stop to take on the spec that was asked for',
    row: { status: 'creating', progress: PROGRESS.scheduled },
    observed: running,
    expected: { kind: 'stop' },
  },
  {
    given: 'a machine that was started',
    row: { status: 'creating', progress: PROGRESS.probing },
    observed: running,
    expected: { kind: 'probe' },
  },
  {
    given: 'a crash between the start and its note',
    row: { status: 'creating', progress: PROGRESS.booting },
    observed: running,
    expected: { kind: 'probe' },
  },
  {
    given: 'a machine that ended before it was ready',
    row: { status: 'creating', progress: PROGRESS.probing },
    observed: crashed,
    expected: { kind: 'mark_exited', exitCode: 137, cause: 'exited' },
  },
  {
    given: 'a machine that ended with its computer, before it was ready',
    row: { status: 'creating', progress: PROGRESS.probing, statusSince: at(-100) },
    observed: stopped,
    watchedSince: at(-1),
    expected: { kind: 'boot' },
  },
  {
    given: 'a driver that does not answer during a start',
    row: { status: 'creating', progress: PROGRESS.booting },
    observed: unreachable,
    expected: { kind: 'wait', until: at(1) },
  },
  {
    given: 'a driver that has not answered for as long as a start may take',
    row: { status: 'creating', progress: PROGRESS.booting, statusSince: at(-120) },
    observed: unreachable,
    expected: { kind: 'fail', reason: 'compute_unavailable', detail: '' },
  },
  {
    given: 'the same time, but nobody watched for most of it',
    row: { status: 'creating', progress: PROGRESS.booting, statusSince: at(-120) },
    observed: created,
    watchedSince: at(-5),
    expected: { kind: 'boot' },
  },
  {
    given: 'a start that failed once, in its pause',
    row: { status: 'creating', progress: PROGRESS.booting, ...failed(1, 'failed', at(0.5)) },
    observed: created,
    expected: { kind: 'wait', until: at(0.5) },
  },
  {
    given: 'a start that failed once, after its pause',
    row: { status: 'creating', progress: PROGRESS.booting, ...failed(1, 'failed', at(0)) },
    observed: created,
    expected: { kind: 'boot' },
  },
  {
    given: 'a start that failed as often as it may',
    row: { status: 'creating', progress: PROGRESS.booting, ...failed(3, 'exhausted', at(10)) },
    observed: created,
    expected: { kind: 'fail', reason: 'exhausted', detail: 'the words of the engine' },
  },
  {
    given: 'a failure that another try cannot mend',
    row: { status: 'pulling', progress: PROGRESS.pulling, ...failed(1, 'image_unavailable', at(1)) },
    observed: absent,
    expected: { kind: 'fail', reason: 'image_unavailable', detail: 'the words of the engine' },
  },
  {
    given: 'a start that stalls',
    row: { status: 'creating', progress: PROGRESS.booting, statusSince: at(-120) },
    observed: created,
    expected: { kind: 'fail', reason: 'timed_out', detail: '' },
  },
  {
    given: 'a pull that takes longer than any may',
    row: { status: 'pulling', progress: PROGRESS.pulling, statusSince: at(-1_800) },
    observed: absent,
    expected: { kind: 'fail', reason: 'timed_out', detail: '' },
  },
]

const restarts: Case[] = [
  {
    given: 'a restart that was asked for',
    row: { status: 'restarting', restartsAsked: 1, progress: PROGRESS.booting },
    observed: running,
    expected: { kind: 'cycle' },
  },
  {
    given: 'a restart whose machine has been stopped',
    row: { status: 'restarting', restartsAsked: 1, restartsDone: 1, progress: PROGRESS.booting },
    observed: stopped,
    expected: { kind: 'boot' },
  },
  {
    given: 'a restart whose machine is gone: what it stored is lost, which a new one would hide',
    row: { status: 'restarting', restartsAsked: 1, restartsDone: 1, progress: PROGRESS.booting },
    observed: absent,
    expected: { kind: 'fail', reason: 'machine_lost', detail: '' },
  },
  {
    given: 'a restart whose stop never ends',
    row: { status: 'restarting', restartsAsked: 1, progress: PROGRESS.booting, statusSince: at(-120) },
    observed: running,
    expected: { kind: 'fail', reason: 'timed_out', detail: '' },
  },
]

const keeps: Case[] = [
  {
    given: 'a machine that runs as it should',
    row: { status: 'running', observedAt: at(-10) },
    observed: running,
    expected: { kind: 'confirm_running', until: at(10) },
  },
  {
    given: 'a machine that is ready and waits',
    row: { status: 'running', observedAt: at(0) },
    observed: waiting,
    expected: { kind: 'begin' },
  },
  {
    given: 'a machine that could not be let begin, in its pause',
    row: { status: 'running', observedAt: at(0), ...failed(1, 'failed', at(0.5)) },
    observed: waiting,
    expected: { kind: 'wait', until: at(0.5) },
  },
  {
    given: 'a machine that could not be let begin as often as is tried',
    row: { status: 'running', observedAt: at(0), ...failed(3, 'failed', at(9)) },
    observed: waiting,
    expected: { kind: 'fail', reason: 'start_failed', detail: 'the words of the engine' },
  },
  {
    given: 'a machine that ended by itself',
    row: { status: 'running', observedAt: at(-10) },
    observed: crashed,
    expected: { kind: 'mark_exited', exitCode: 137, cause: 'exited' },
  },
  {
    given: 'a machine that says that its command has ended',
    row: { status: 'running', observedAt: at(-1) },
    observed: { ...running, command_end: end },
    expected: { kind: 'note_command_end', end },
  },
  {
    given: 'a machine that says so again',
    row: { status: 'running', observedAt: at(-1), commandEnd: noted(end, -60) },
    observed: { ...running, command_end: end },
    expected: { kind: 'confirm_running', until: at(10) },
  },
  {
    given: 'a machine that says that it has ended once more',
    row: { status: 'running', observedAt: at(-1), commandEnd: noted(end, -10) },
    observed: { ...running, command_end: { ...end, count: 2 } },
    expected: { kind: 'note_command_end', end: { ...end, count: 2 } },
  },
  {
    given: 'a machine that says something new at every look',
    row: { status: 'running', observedAt: at(-1), commandEnd: noted(end, -9) },
    observed: { ...running, command_end: { ...end, count: 2, ended_at: at(-1) } },
    expected: { kind: 'confirm_running', until: at(10) },
  },
  {
    given: 'a machine whose system is in trouble',
    row: { status: 'running', observedAt: at(-1) },
    observed: { ...running, guest_trouble: { code: 'guest_silent', detail: 'x' } },
    expected: { kind: 'note_trouble', trouble: { code: 'guest_silent', detail: 'x' } },
  },
  {
    given: 'a machine whose system is in the trouble that is known',
    row: { status: 'running', observedAt: at(-1), reasonCode: 'guest_silent' },
    observed: { ...running, guest_trouble: { code: 'guest_silent', detail: 'y' } },
    expected: { kind: 'confirm_running', until: at(10) },
  },
  {
    given: 'a machine whose system is in trouble no more',
    row: { status: 'running', observedAt: at(-1), reasonCode: 'guest_silent' },
    observed: running,
    expected: { kind: 'note_trouble', trouble: null },
  },
  {
    given: 'a machine whose computer is taken out of service',
    row: { status: 'running', observedAt: at(-1) },
    observed: { ...running, host_drain: 'movable' },
    expected: { kind: 'note_trouble', trouble: { code: 'node_draining', detail: '' } },
  },
  {
    given: 'a machine of which that is known, and that cannot be moved any more',
    row: { status: 'running', observedAt: at(-1), reasonCode: 'node_draining' },
    observed: { ...running, host_drain: 'fixed' },
    expected: { kind: 'note_trouble', trouble: { code: 'node_draining_fixed', detail: '' } },
  },
  {
    given: 'a machine whose computer stays in service, after all',
    row: { status: 'running', observedAt: at(-1), reasonCode: 'node_draining' },
    observed: running,
    expected: { kind: 'note_trouble', trouble: null },
  },
  {
    given: 'a machine that ended with its command, as wanted, while no gateway was there',
    row: { status: 'running', observedAt: at(-10) },
    observed: { ...crashed, cause: 'command_ended' },
    watchedSince: at(-1),
    expected: { kind: 'mark_exited', exitCode: 137, cause: 'command_ended' },
  },
  {
    given: 'a machine that ended while no gateway was there',
    row: { status: 'running', observedAt: at(-10) },
    observed: crashed,
    watchedSince: at(-1),
    expected: { kind: 'bring_back' },
  },
  {
    given: 'a machine that outlived its gateway',
    row: { status: 'running', observedAt: at(-3_600) },
    observed: running,
    watchedSince: at(-1),
    expected: { kind: 'confirm_running', until: at(10) },
  },
  {
    given: 'a machine that is gone',
    row: { status: 'running', observedAt: at(-10) },
    observed: absent,
    expected: { kind: 'fail', reason: 'machine_lost', detail: '' },
  },
  {
    given: 'a driver that is silent for a moment',
    row: { status: 'running', observedAt: at(-29) },
    observed: unreachable,
    expected: { kind: 'wait', until: at(1) },
  },
  {
    given: 'a driver that has been silent for long',
    row: { status: 'running', observedAt: at(-30) },
    observed: unreachable,
    expected: { kind: 'mark_unknown' },
  },
  {
    given: 'a machine out of sight, and still so',
    row: { status: 'unknown', observedAt: at(-90) },
    observed: unreachable,
    expected: { kind: 'wait', until: at(10) },
  },
  {
    given: 'a machine that is seen again',
    row: { status: 'unknown', observedAt: at(-90) },
    observed: running,
    expected: { kind: 'mark_seen' },
  },
  {
    given: 'a machine that ended out of sight',
    row: { status: 'unknown', observedAt: at(-90) },
    observed: stopped,
    expected: { kind: 'mark_exited', exitCode: null, cause: 'exited' },
  },
  {
    given: 'a machine that its engine ended, since it took all of the disk',
    row: { status: 'running' },
    observed: { state: 'stopped', exit_code: null, cause: 'disk_full' },
    expected: { kind: 'mark_exited', exitCode: null, cause: 'disk_full' },
  },
]

const stops: Case[] = [
  {
    given: 'a stop that was asked for',
    row: { desired: 'stopped', status: 'stopping' },
    observed: running,
    expected: { kind: 'stop' },
  },
  {
    given: 'a machine that has stopped',
    row: { desired: 'stopped', status: 'stopping' },
    observed: stopped,
    expected: { kind: 'confirm_stopped' },
  },
  {
    given: 'a stop before any machine was made',
    row: { desired: 'stopped', status: 'stopping' },
    observed: absent,
    expected: { kind: 'confirm_stopped' },
  },
  {
    given: 'a stop that the driver cannot confirm: nobody says stopped before it does',
    row: { desired: 'stopped', status: 'stopping' },
    observed: unreachable,
    expected: { kind: 'wait', until: at(1) },
  },
  {
    given: 'a stop that failed, in its pause',
    row: { desired: 'stopped', status: 'stopping', ...failed(4, 'failed', at(3)) },
    observed: running,
    expected: { kind: 'wait', until: at(3) },
  },
  {
    given: 'a stop that never ends',
    row: { desired: 'stopped', status: 'stopping', statusSince: at(-60), ...failed(5, 'failed', at(3)) },
    observed: running,
    expected: { kind: 'fail', reason: 'stop_failed', detail: 'the words of the engine' },
  },
  {
    given: 'a stopped instance',
    row: { desired: 'stopped', status: 'stopped' },
    observed: stopped,
    expected: { kind: 'wait', until: at(3_600) },
  },
  {
    given: 'a stopped instance whose machine runs, by a start that came late',
    row: { desired: 'stopped', status: 'stopped' },
    observed: running,
    expected: { kind: 'stop' },
  },
  {
    given: 'a failed start whose machine runs nevertheless',
    row: { desired: 'stopped', status: 'error', reasonCode: 'timed_out' },
    observed: running,
    expected: { kind: 'stop' },
  },
  {
    given: 'a failed stop that has worked in the end',
    row: { desired: 'stopped', status: 'error', reasonCode: 'stop_failed' },
    observed: stopped,
    expected: { kind: 'confirm_stopped' },
  },
  {
    given: 'a failed start that used real GPUs, and whose machine has ended',
    row: { desired: 'stopped', status: 'error', reasonCode: 'timed_out', gpuUuids: ['GPU-1'] },
    observed: created,
    expected: { kind: 'clear_gpus' },
  },
  {
    given: 'a failed start whose driver is away: it is asked again, for its machine may run',
    row: { desired: 'stopped', status: 'error', reasonCode: 'compute_unavailable' },
    observed: unreachable,
    expected: { kind: 'wait', until: at(60) },
  },
  {
    given: 'an instance that failed and has nothing left to clean',
    row: { desired: 'stopped', status: 'error', reasonCode: 'image_unavailable' },
    observed: absent,
    expected: { kind: 'wait', until: at(3_600) },
  },
  {
    given: 'an instance that exited',
    row: { desired: 'stopped', status: 'exited' },
    observed: stopped,
    expected: { kind: 'wait', until: at(3_600) },
  },
]

const removals: Case[] = [
  {
    given: 'a removal of what runs and is charged: its charge does not wait for its files',
    row: { desired: 'terminated', status: 'deleting', mayRun: true },
    observed: running,
    expected: { kind: 'stop' },
  },
  {
    given: 'a removal of what has just ended',
    row: { desired: 'terminated', status: 'deleting', mayRun: true },
    observed: stopped,
    expected: { kind: 'confirm_halted' },
  },
  {
    given: 'a removal that was asked for',
    row: { desired: 'terminated', status: 'deleting' },
    observed: running,
    expected: { kind: 'remove' },
  },
  {
    given: 'a machine that is gone',
    row: { desired: 'terminated', status: 'deleting' },
    observed: absent,
    expected: { kind: 'confirm_terminated' },
  },
  {
    given: 'a removal that the driver cannot confirm',
    row: { desired: 'terminated', status: 'deleting' },
    observed: unreachable,
    expected: { kind: 'wait', until: at(1) },
  },
  {
    given: 'a removal that fails, in its pause',
    row: { desired: 'terminated', status: 'deleting', ...failed(9, 'failed', at(2)) },
    observed: stopped,
    expected: { kind: 'wait', until: at(2) },
  },
  {
    given: 'a removal that never ends',
    row: { desired: 'terminated', status: 'deleting', statusSince: at(-300), ...failed(9, 'failed', at(2)) },
    observed: stopped,
    expected: { kind: 'fail', reason: 'remove_failed', detail: 'the words of the engine' },
  },
  {
    given: 'a removal that has failed: it goes on being tried',
    row: { desired: 'terminated', status: 'error', reasonCode: 'remove_failed' },
    observed: stopped,
    expected: { kind: 'remove' },
  },
  {
    given: 'a removal that has failed, and whose driver is away',
    row: { desired: 'terminated', status: 'error', reasonCode: 'remove_failed' },
    observed: unreachable,
    expected: { kind: 'wait', until: at(60) },
  },
  {
    given: 'a removal that has failed and worked in the end',
    row: { desired: 'terminated', status: 'error', reasonCode: 'remove_failed' },
    observed: absent,
    expected: { kind: 'confirm_terminated' },
  },
  {
    given: 'an instance that has been removed',
    row: { desired: 'terminated', status: 'deleting', terminatedAt: at(-1) },
    observed: absent,
    expected: { kind: 'wait', until: at(3_600) },
  },
]

/** An hour costs a unit: a cent is used up in 36 seconds. */
const cent = { spendLimitCents: 1, runningMicroPerHour: 1_000_000n }
const rules: Case[] = [
  ...(['creating', 'pulling', 'running', 'restarting'] as const).map(status => ({
    given: `${status} when the moment has come`,
    row: { status, stopAt: NOW },
    observed: status === 'running' ? running : absent,
    expected: { kind: 'stop_by_rule' as const, rule: 'stop_time_reached' as const },
  })),
  {
    given: 'a machine that has cost what it may',
    row: { status: 'running', ...cent },
    costMicro: 10_000n,
    observed: running,
    expected: { kind: 'stop_by_rule', rule: 'spend_limit_reached' },
  },
  {
    given: 'a machine that is about to have cost that: it is looked at then',
    row: { status: 'running', ...cent },
    costMicro: 9_000n,
    observed: running,
    expected: { kind: 'confirm_running', until: at(4) },
  },
  {
    given: 'a moment that comes before the next look',
    row: { status: 'running', stopAt: at(2), ...cent },
    costMicro: 9_000n,
    observed: running,
    expected: { kind: 'confirm_running', until: at(2) },
  },
  {
    given: 'a moment and a limit that are far',
    row: { status: 'running', stopAt: at(3_600), ...cent },
    observed: running,
    expected: { kind: 'confirm_running', until: at(10) },
  },
  {
    given: 'a machine that nobody has used for as long as it may be idle',
    row: { status: 'running', idleStopMinutes: 5 },
    idleSince: at(-300),
    observed: running,
    expected: { kind: 'stop_by_rule', rule: 'idle' },
  },
  {
    given: 'a machine that is about to have been idle for so long: it is looked at then',
    row: { status: 'running', idleStopMinutes: 5 },
    idleSince: at(-297),
    observed: running,
    expected: { kind: 'confirm_running', until: at(3) },
  },
  {
    given: 'a machine of which nobody can tell whether it is idle',
    row: { status: 'running', idleStopMinutes: 5 },
    observed: running,
    expected: { kind: 'confirm_running', until: at(10) },
  },
  {
    given: 'a machine out of sight: it costs nothing, and is stopped once it is seen',
    row: { status: 'unknown', stopAt: at(-60) },
    observed: running,
    expected: { kind: 'mark_seen' },
  },
  {
    given: 'what is stopped already',
    row: { status: 'stopped', desired: 'stopped', stopAt: at(-60) },
    observed: stopped,
    expected: { kind: 'wait', until: at(3_600) },
  },
  {
    given: 'what is to be removed',
    row: { status: 'deleting', desired: 'terminated', stopAt: at(-60) },
    observed: stopped,
    expected: { kind: 'remove' },
  },
]

const kept: Case[] = [
  {
    given: 'a pod that stays stopped is looked at when the next mail is due',
    row: { status: 'stopped', desired: 'stopped', stoppedAt: at(-23 * 86_400 + 60) },
    observed: stopped,
    expected: { kind: 'wait', until: at(60) },
  },
  {
    given: 'a pod whose first mail is due, though its engine is away',
    row: { status: 'stopped', desired: 'stopped', stoppedAt: at(-23 * 86_400) },
    observed: unreachable,
    expected: { kind: 'announce_deletion', day: 7, keptUntil: at(7 * 86_400) },
  },
  {
    given: 'a pod of which all mails were told',
    row: {
      status: 'stopped',
      desired: 'stopped',
      stoppedAt: at(-31 * 86_400),
      keptUntil: at(0),
      deletionNoticeDay: 1,
    },
    observed: stopped,
    expected: { kind: 'delete_stopped' },
  },
]

test.each(starts)('[B6] start: $given', expectStep)
test.each(restarts)('restart: $given', expectStep)
test.each(keeps)('keep: $given', expectStep)
test.each(stops)('stop: $given', expectStep)
test.each(rules)('[B5] stopped by a rule: $given', expectStep)
test.each(kept)('[R9.6] stays stopped: $given', expectStep)
test.each(removals)('[R4.5] removal: $given', expectStep)

test('[R4.4] every status has a plan for every machine, and a machine that is to stop is never started', () => {
  const starting = ['pull', 'boot', 'probe', 'cycle', 'bring_back', 'mark_seen', 'confirm_running']
  for (const status of INSTANCE_STATUSES) {
    for (const desired of ['running', 'stopped', 'terminated'] as const) {
      for (const observed of [absent, created, running, stopped, unreachable]) {
        const step = plan({ status, desired }, observed)
        if (desired !== 'running') expect(starting).not.toContain(step.kind)
        if (desired !== 'terminated') expect(['remove', 'confirm_terminated']).not.toContain(step.kind)
      }
    }
  }
})

test('[R3.5] an instance with a disk of its own is gone when that is, after its machine, and a failure waits its turn', () => {
  const row = { desired: 'terminated', status: 'deleting', podVolumeGb: 10 } as const
  expect(plan(row, stopped)).toEqual({ kind: 'remove' })
  expect(plan(row, absent)).toEqual({ kind: 'confirm_terminated' })
  expect(plan({ ...row, mayRun: true }, absent)).toEqual({ kind: 'confirm_halted' })
  expect(plan({ ...row, ...failed(1, 'failed', at(2)) }, absent)).toEqual({ kind: 'wait', until: at(2) })
  expect(plan({ ...row, ...failed(1, 'failed', at(-1)) }, absent)).toEqual({ kind: 'confirm_terminated' })
  expect(plan({ ...row, statusSince: at(-300), ...failed(9, 'failed', at(2)) }, absent)).toMatchObject({
    kind: 'fail',
    reason: 'remove_failed',
  })
})

test('[R1.2] a machine that does not run takes on at once what is attached to its instance; where there is none, nothing is made', () => {
  const row = { desired: 'stopped', volumeChanged: true } as const
  for (const status of ['stopped', 'exited', 'error'] as const) {
    expect(plan({ ...row, status }, stopped)).toEqual({ kind: 'respec', hasMachine: true })
    expect(plan({ ...row, status }, absent)).toEqual({ kind: 'respec', hasMachine: false })
  }
  expect(plan({ ...row, status: 'stopped', ...failed(1, 'failed', at(2)) }, stopped)).toEqual({
    kind: 'wait',
    until: at(2),
  })
  expect(plan({ ...row, status: 'stopped', volumeChanged: false }, stopped).kind).toBe('wait')
  // One that runs all the same is stopped first.
  expect(plan({ ...row, status: 'error' }, running)).toEqual({ kind: 'stop' })
})

test('a plan changes nothing of what it is made from', () => {
  const row = Object.freeze(fullRow({ status: 'creating' }))
  const when = { now: NOW, watchedSince: at(-9) }
  const situation = {
    row,
    observed: absent,
    spent: { costMicro: 0n, idleSince: null },
    ...when,
    limits: RECONCILE_LIMITS,
  }
  expect(planInstance(Object.freeze(situation))).toEqual(planInstance(situation))
})

function expectStep({ row, observed, expected, ...more }: Case): void {
  expect(plan(row, observed, more)).toEqual(expected)
}

function plan(
  row: Partial<PlanRow>,
  observed: Observed,
  { watchedSince = at(-3_600), costMicro = 0n, idleSince = null }: Partial<Case> = {},
): Step {
  const when = { now: NOW, watchedSince }
  const spent = { costMicro, idleSince }
  return planInstance({ row: fullRow(row), observed, spent, ...when, limits: RECONCILE_LIMITS })
}

function fullRow(row: Partial<PlanRow>): PlanRow {
  return {
    desired: 'running',
    restartsAsked: 0,
    restartsDone: 0,
    status: 'creating',
    mayRun: false,
    reasonCode: null,
    progress: null,
    commandEnd: null,
    gpuUuids: [],
    observedAt: null,
    statusSince: at(-1),
    attempts: 0,
    failureCode: null,
    failureDetail: null,
    nextAttemptAt: at(-1),
    terminatedAt: null,
    stopAt: null,
    spendLimitCents: null,
    idleStopMinutes: null,
    runningMicroPerHour: 80_000n,
    billingType: 'postpay',
    expiryTime: null,
    termNoticeDay: null,
    kind: 'POD',
    dataDiskGb: null,
    podVolumeGb: null,
    podVolumePath: '/workspace',
    stoppedAt: null,
    keptUntil: null,
    deletionNoticeDay: null,
    unpaidSince: null,
    volumeChanged: false,
    ...row,
  }
}
