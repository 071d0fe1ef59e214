import { ComputeError } from '../../../drivers/compute/port/compute-error.ts'
import type { Engine } from '../../../drivers/compute/port/engine.ts'
import { offered } from '../../../drivers/compute/port/part.ts'
import type { VolumeMount } from '../../../drivers/compute/port/volumes.ts'
import type { FailureCode } from '../codes.ts'
import { idleSince } from '../idle.ts'
import { ownDiskOf, ownVolumeId } from '../own-disk.ts'
import { type InstanceRow, NO_FAILURE, PROGRESS } from '../rows.ts'
import type { Spent } from '../stop-rules.ts'
import { StepSuperseded, StepTimedOut, withDeadline } from './deadline.ts'
import { detailFor } from './failure-detail.ts'
import type { ReconcileLimits } from './limits.ts'
import { machineSpec } from './machine-spec.ts'
import type { Observed, Step } from './plan.ts'
import { imageOf, pullImage } from './pull-step.ts'
import type { Outcome, StepDeps } from './step-deps.ts'

export interface Steps {
  /** Asks the driver what the machine is; never throws for a driver that is away. */
  look(row: InstanceRow, superseded: AbortSignal): Promise<Observed>
  /** What its rules are held against; nothing is looked up that no rule asks for. */
  spent(row: InstanceRow): Promise<Spent>
  /**
   * Carries out one step, and notes a failed try on the row.
   * @throws StepSuperseded, or errors of the database.
   */
  execute(
    step: Exclude<Step, { kind: 'wait' | 'confirm_running' }>,
    row: InstanceRow,
    superseded: AbortSignal,
  ): Outcome
}

/** What the reconciler does with the driver. Driver calls are made outside transactions, each with a deadline. */
export function createSteps(deps: StepDeps): Steps {
  const { db, clock, log, billing, fleet, limits, store, transitions } = deps

  const engineOf = ({ engineId }: InstanceRow) => (engineId === null ? null : fleet.engine(engineId))
  const isReached = ({ engineId }: InstanceRow) => engineId !== null && fleet.isReached(engineId)

  /** A call with a deadline; those that hang and ignore their signal are left behind. */
  function call<T>(
    row: InstanceRow,
    name: keyof ReconcileLimits['stepMs'],
    superseded: AbortSignal,
    run: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const deadlineMs = Math.min(limits.stepMs[name], limits.statusMs[row.status] ?? limits.stepMs[name])
    return withDeadline({ deadlineMs, superseded, graceMs: limits.abortGraceMs }, run)
  }

  /**
   * The disk that an instance has for itself, made before its machine is. Not once that has run: an empty one in the place
   * of one that is lost would hide that.
   */
  async function ownMount(row: InstanceRow, driver: Engine): Promise<VolumeMount[]> {
    const disk = ownDiskOf(row)
    if (!disk) return []
    const { sizeGb: size_gb, path } = disk
    const id = ownVolumeId(row.id)
    if (!row.firstRanAt) await offered(driver.volumes).make({ id, tenant: row.userId, size_gb, fixed: true })
    return [{ id, path, read_only: false, size_gb }]
  }

  async function networkMount({ networkVolume }: InstanceRow): Promise<VolumeMount[]> {
    if (!networkVolume) return []
    return [{ ...networkVolume, read_only: await deps.volumes.isReadOnly(networkVolume.id) }]
  }

  /** A machine that exists keeps its home, and takes on the spec that the row has now; another one is made. */
  async function make(row: InstanceRow, driver: Engine, superseded: AbortSignal): Promise<void> {
    const { recipe } = await imageOf(deps.images, row)
    const known = fleet.known(driver.id)?.facts?.size
    await call(row, 'boot', superseded, async signal => {
      const size = known ?? (await driver.size())
      const { list, guestKeys } = deps.sshKeys
      const bootsOwn = driver.kinds.includes('VM')
      const mayEnter = ({ id }: { id: string }) => row.sshKeyIds?.includes(id) ?? true
      const keys = bootsOwn ? (await list(row.userId)).filter(mayEnter) : []
      const ssh = bootsOwn ? { keys, own: guestKeys(row.id) } : null
      const volumes = [...(await ownMount(row, driver)), ...(await networkMount(row))]
      await driver.machines.create(machineSpec(row, { image: recipe, host: size, ssh, volumes }), signal)
    })
  }

  async function boot(row: InstanceRow, driver: Engine, superseded: AbortSignal): Outcome {
    let booting: InstanceRow | null = row
    if (row.progress?.step !== 'booting') {
      booting = await store.note(row, { progress: PROGRESS.booting })
      if (!booting) return null
    }
    await make(row, driver, superseded)
    if (row.firstRanAt && !driver.machines.wait_to_begin) {
      booting = await transitions.starting(booting)
      if (!booting) return null
    }
    await call(row, 'boot', superseded, signal => driver.machines.start(row.id, signal))
    const firstRanAt = row.firstRanAt ?? clock.now()
    return store.note(booting, {
      ...NO_FAILURE,
      firstRanAt,
      volumeChanged: false,
      progress: PROGRESS.probing,
    })
  }

  async function probe(row: InstanceRow, driver: Engine, superseded: AbortSignal): Outcome {
    await call(row, 'probe', superseded, signal => driver.machines.probe(row.id, signal))
    return transitions.ready(row)
  }

  /** What was never ready and is not charged, or is to be removed, gets no time to end in good order. */
  function stop(row: InstanceRow, driver: Engine, superseded: AbortSignal): Promise<void> {
    const at_once = row.observedAt === null || row.desired === 'terminated'
    return call(row, 'stop', superseded, signal => driver.machines.stop(row.id, signal, { at_once }))
  }

  async function useDriver(step: DriverStep, row: InstanceRow, superseded: AbortSignal): Outcome {
    const engine = engineOf(row)
    if (!engine) throw new ComputeError('engine_unavailable', 'this gateway does not reach the engine')
    switch (step.kind) {
      case 'begin_pull':
        return transitions.pulling(row)
      case 'pull':
        return pullImage({ ...deps, engine }, row, superseded)
      case 'boot':
        return boot(row, engine, superseded)
      case 'respec':
        if (step.hasMachine) await make(row, engine, superseded)
        return store.note(row, { ...NO_FAILURE, volumeChanged: false })
      case 'probe':
        return probe(row, engine, superseded)
      case 'begin':
        await call(row, 'boot', superseded, signal => engine.machines.begin(row.id, signal))
        return store.note(row, NO_FAILURE)
      case 'cycle':
        await stop(row, engine, superseded)
        return transitions.halted(row)
      case 'stop':
        await stop(row, engine, superseded)
        return store.note(row, NO_FAILURE)
      case 'remove':
        await call(row, 'remove', superseded, signal => engine.machines.remove(row.id, signal))
        return store.note(row, NO_FAILURE)
      case 'confirm_terminated':
        if (ownDiskOf(row)) {
          const id = ownVolumeId(row.id)
          await call(row, 'remove', superseded, () => offered(engine.volumes).delete(id))
        }
        return transitions.terminated(row)
    }
  }

  async function tryDriver(step: DriverStep, row: InstanceRow, superseded: AbortSignal): Outcome {
    try {
      return await useDriver(step, row, superseded)
    } catch (error) {
      const code = failureCode(error)
      if (!code) throw error
      log.warn({ err: error, instance: row.id, step: step.kind, code }, 'a step of an instance failed')
      const pauseMs = limits.backoffMs[Math.min(row.attempts, limits.backoffMs.length - 1)] ?? 0
      return store.noteFailure(row, {
        code,
        detail: detailFor(error),
        retryAt: new Date(clock.now().getTime() + pauseMs),
      })
    }
  }

  function tellOperator({ id, engineId, status, failureDetail }: InstanceRow, reason: string): void {
    const about = { instance: id, engine: engineId, status, reason, detail: failureDetail }
    if (reason !== 'remove_failed') log.warn(about, 'an instance is given up')
    else log.error(about, 'a removed machine is still there with what it stored; removing it goes on')
  }

  return {
    async look(row, superseded) {
      const engine = engineOf(row)
      if (!engine) return { state: 'unreachable' }
      try {
        return await call(row, 'status', superseded, () => engine.observation.status(row.id))
      } catch (error) {
        if (error instanceof StepSuperseded) throw error
        // Asked again and again while an engine is away: only the change of status is worth a line.
        log.debug({ err: error, instance: row.id }, 'the driver does not say what a machine is')
        return { state: 'unreachable' }
      }
    },
    async spent(row) {
      const { id, spendLimitCents, idleStopMinutes, status } = row
      const costs = spendLimitCents === null ? null : await billing.costMicro(db, 'instance', [id])
      const isRuled = idleStopMinutes !== null && status === 'running'
      return {
        costMicro: costs?.get(id) ?? 0n,
        idleSince: isRuled ? await idleSince(db, row, clock.now()) : null,
      }
    },
    async execute(step, row, superseded) {
      switch (step.kind) {
        case 'confirm_halted':
          return transitions.halted(row)
        case 'confirm_stopped':
          return transitions.stopped(row)
        case 'end_term':
          return deps.terms.over(row)
        case 'announce_term_end':
          return deps.terms.announce(row, step.day)
        case 'announce_deletion':
          return deps.deletion.announce(row, step.day)
        case 'delete_stopped':
          return deps.deletion.remove(row)
        case 'stop_by_rule':
          return transitions.stoppedByRule(row, step.rule)
        case 'clear_gpus':
          return transitions.gpusCleared(row)
        case 'note_command_end':
          return transitions.commandEnded(row, step.end)
        case 'note_trouble':
          return transitions.troubled(row, step.trouble)
        case 'mark_exited':
          return transitions.exited(row, step)
        case 'mark_unknown':
          log.warn({ instance: row.id, engine: row.engineId }, 'nothing was heard of a machine for a while')
          return transitions.lostSight(row, isReached(row) ? 'driver_silent' : 'engine_away')
        case 'mark_seen':
          return transitions.seenAgain(row)
        case 'bring_back':
          return transitions.bringBack(row)
        case 'fail':
          tellOperator(row, step.reason)
          return transitions.failed(row, step)
        default:
          return tryDriver(step, row, superseded)
      }
    },
  }
}

type DriverStep = Extract<
  Step,
  {
    kind:
      | 'begin_pull'
      | 'pull'
      | 'boot'
      | 'respec'
      | 'probe'
      | 'begin'
      | 'cycle'
      | 'stop'
      | 'remove'
      | 'confirm_terminated'
  }
>

/** Null for what is no fault of the driver or its machine. */
function failureCode(error: unknown): FailureCode | null {
  if (error instanceof ComputeError) return error.code
  if (error instanceof StepTimedOut) return 'timed_out'
  return null
}
