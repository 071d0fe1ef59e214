import type Docker from 'dockerode'
import type { Logger } from 'pino'
import { createKeyedQueue } from '../keyed-queue.ts'
import { HOSTNAME_PATTERN, MACHINE_ID_PATTERN } from '../machine-id.ts'
import { ruleOf } from '../main-program.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { MachineListing, MachineSpec, MachineStatus, Machines } from '../port/machines.ts'
import { checkMounts } from '../volume-mounts.ts'
import {
  createNames,
  INSTANCE_LABEL,
  machineOf,
  planContainer,
  planLimits,
  readOrigin,
  SHAPE_LABEL,
  shapeOf,
} from './container-plan.ts'
import type { DiskBound } from './disk-bound.ts'
import { readReport } from './docker-command-end.ts'
import { howStopped } from './docker-disk-watch.ts'
import { isMissing, orNull, statusCodeOf, toComputeError, translated } from './docker-errors.ts'
import { type DockerLeftovers, isInTheWay } from './docker-leftovers.ts'
import { ensureNetwork } from './docker-network.ts'
import { dockerImage } from './docker-recipe.ts'
import { createReplacement, volumesOf } from './replace-container.ts'

/** How long a machine's processes have to end in good order, in seconds. */
const STOP_GRACE_S = 3
/** The engine refuses more than 125 or so. */
const LAYERS_MAX = 100
const STATUS_NOT_MODIFIED = 304
const STATUS_CONFLICT = 409
const REMOVE_POLL_MS = 50
const REMOVE_TIMEOUT_MS = 30_000
/** How long an engine takes at most to see that what a run of it before has left is gone. */
const FREE_POLL_MS = 100
const FREE_TIMEOUT_MS = 10_000

/** Asks the engine a short question; fails when it leaves it unanswered for too long. */
type Soon = <T>(ask: (options: { abortSignal: AbortSignal }) => Promise<T>) => Promise<T>

/** Machines as containers, which are found by their names and labels: nothing of them is kept here. */
export function createDockerMachines(deps: {
  docker: Docker
  cloudId: string
  cpusMax: number
  /** The address of the engine's computer that ports are published on. */
  publishAddress: string
  /** What runs machines, by its name at the engine; left out for the engine's own choice. */
  runtime: string | undefined
  /** The disk that the engine keeps machines on; null where its rate is not limited. */
  diskNode: string | null
  diskBound: DiskBound
  soon: Soon
  log: Logger
  /** A machine on more layers than this is put on one when its container is made anew. */
  layersMax: number | undefined
  /** Ends what an engine that was killed has left of a container. */
  leftovers: DockerLeftovers
  /** Called when a machine is made that may start in a moment. */
  prepare(): void
  /** Called before a machine starts; fails where it must not. */
  admit(): Promise<void>
  /** Called when a machine was stopped. */
  onEnded(id: string): void
  /** Called when figures that were kept of a machine are those of another container. */
  onReplaced(id: string): void
  /** Called before a machine is removed. */
  onRemoving(id: string): Promise<void>
}) {
  const { docker, cloudId, soon, log } = deps
  const { cpusMax, publishAddress, runtime, diskNode, diskBound } = deps
  /** The engine's own part in each container. */
  const terms = { cloudId, cpusMax, publishAddress, runtime, diskNode, diskBound }
  const names = createNames(cloudId)
  const queue = createKeyedQueue()
  /** Machines whose engine went away while it started them: something of them may run that it knows nothing of. */
  const unsure = new Set<string>()
  const containerOf = (id: string) => docker.getContainer(names.container(id))
  const replacement = createReplacement({
    docker,
    cloudId,
    layersMax: deps.layersMax ?? LAYERS_MAX,
    log,
  })

  async function status(id: string): Promise<MachineStatus> {
    if (!MACHINE_ID_PATTERN.test(id)) return { state: 'absent' }
    try {
      const places = [containerOf(id), docker.getContainer(names.before(id))]
      for (const container of places) {
        const found = await orNull(soon(options => container.inspect(options)))
        if (!found || !isOurs(id, found)) continue
        const { State } = found
        const state = stateOf(State.Status)
        await endUnknown(id, found)
        if (state === 'created') return { state }
        const started_at = new Date(State.StartedAt)
        const rule = ruleOf(found.Config.Entrypoint)
        // One that runs and is to end with its command is about to.
        const isTold = rule !== null && (state === 'running') === (rule !== 'stop')
        const end = isTold ? await soon(options => readReport(container, { ...options, started_at })) : null
        if (state === 'running') return { state, started_at, ...(end && { command_end: end }) }
        return howStopped(State.ExitCode, end !== null)
      }
      return { state: 'absent' }
    } catch (error) {
      throw toComputeError(error, `looking at ${id}`)
    }
  }

  /** Before it is said that a machine does not run: nothing of it does that its engine does not know of. */
  async function endUnknown(id: string, { Id, State }: Docker.ContainerInspectInfo): Promise<void> {
    if (!unsure.has(id)) return
    if (!State.Running) await deps.leftovers.end(Id)
    unsure.delete(id)
  }

  async function start(id: string, signal: AbortSignal): Promise<void> {
    const container = containerOf(id)
    const begin = () => container.start({ abortSignal: signal })
    try {
      await begin()
    } catch (error) {
      if (statusCodeOf(error) === STATUS_NOT_MODIFIED) return
      const isStuck = isInTheWay(error)
      if (isStuck || toComputeError(error, '').code === 'engine_unavailable') unsure.add(id)
      if (!isStuck) throw error
      log.warn({ err: error, machine: id }, 'an engine that was killed has left something of a machine')
      const { Id, State } = await container.inspect()
      const hasEnded = !State.Running && (await deps.leftovers.end(Id))
      unsure.delete(id)
      try {
        await untilFree(begin, hasEnded ? FREE_TIMEOUT_MS : 0)
      } catch (refusal) {
        if (!isInTheWay(refusal)) throw refusal
        await deps.leftovers.clear(Id, refusal)
        await begin()
      }
    }
  }

  /** Changes one machine, one change after the other, unless the caller has given up by then. */
  function change(id: string, doing: string, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    return queue(id, async () => {
      if (signal.aborted) throw new ComputeError('failed', 'the call was given up', { cause: signal.reason })
      await translated(`${doing} ${id}`, work)
    })
  }

  async function create(spec: MachineSpec, signal: AbortSignal): Promise<void> {
    await replacement.settle(spec.id)
    const existing = await orNull(containerOf(spec.id).inspect())
    if (existing) {
      mustBeOurs(spec.id, existing)
      return takeOn(spec, existing)
    }
    const { reference: imageRef } = dockerImage(spec.image, cloudId)
    await mustHaveVolumes(spec)
    const { Config, Size } = await docker.getImage(imageRef).inspect()
    // An image that was made from a machine says what that machine's own image was.
    const inherited = readOrigin(Config.Labels)
    const origin = inherited
      ? { ...inherited, size_bytes: Size }
      : {
          entrypoint: asList(Config.Entrypoint),
          command: asList(Config.Cmd),
          env: Config.Env ?? [],
          size_bytes: Size,
        }
    await queue('network', () => ensureNetwork(docker, cloudId))
    const imageEnv = inherited ? (Config.Env ?? []) : []
    const plan = planContainer({ ...terms, spec, imageRef, origin, imageEnv })
    try {
      await docker.createContainer({ ...plan, abortSignal: signal })
    } catch (error) {
      // Another process of the same cloud was quicker.
      if (statusCodeOf(error) !== STATUS_CONFLICT) throw error
      mustBeOurs(spec.id, await containerOf(spec.id).inspect())
    }
  }

  const isOurs = (id: string, { Config }: Docker.ContainerInspectInfo) =>
    machineOf(Config.Labels, cloudId) === id

  /** Whoever may speak to the engine may give a container any name. */
  function mustBeOurs(id: string, found: Docker.ContainerInspectInfo): void {
    if (isOurs(id, found)) return
    throw new ComputeError(
      'name_taken',
      `the name ${names.container(id)} is taken by a container that is not Berth’s`,
    )
  }

  /** The engine would make a volume that is not there, and nobody would know of it. */
  async function mustHaveVolumes({ volumes = [] }: MachineSpec): Promise<void> {
    for (const { id } of volumes) {
      const found = await orNull(docker.getVolume(names.volume(id)).inspect())
      if (!found) throw new ComputeError('not_found', `no volume ${id}`)
    }
  }

  /** Gives a container that exists another spec, unless it runs. */
  async function takeOn(spec: MachineSpec, existing: Docker.ContainerInspectInfo): Promise<void> {
    if (stateOf(existing.State.Status) === 'running') return
    const { Labels } = existing.Config
    const origin = readOrigin(Labels)
    if (origin && Labels[SHAPE_LABEL] !== shapeOf(spec, terms)) {
      await mustHaveVolumes(spec)
      await queue('network', () => ensureNetwork(docker, cloudId))
      await replacement.replace(spec.id, existing, (imageRef, predecessor) =>
        planContainer({ ...terms, spec, imageRef, origin, predecessor }),
      )
      return deps.onReplaced(spec.id)
    }
    const limits = planLimits(spec, cpusMax)
    const { Memory, NanoCpus } = existing.HostConfig
    if (Memory !== limits.Memory || NanoCpus !== limits.NanoCpus) await containerOf(spec.id).update(limits)
  }

  /** What the engine itself says of the first process: a program in there can be slow, or lie, as its customer likes. */
  async function probe(id: string): Promise<void> {
    const { state } = await status(id)
    if (state === 'absent') throw new ComputeError('not_found', `no machine ${id}`)
    if (state !== 'running') throw new ComputeError('not_running', `${id} does not run`)
  }

  async function stop(id: string, graceS: number, signal: AbortSignal): Promise<void> {
    try {
      await containerOf(id).stop({ t: graceS, abortSignal: signal })
    } catch (error) {
      if (!isMissing(error) && statusCodeOf(error) !== STATUS_NOT_MODIFIED) throw error
    }
  }

  async function remove(id: string): Promise<void> {
    await deps.onRemoving(id)
    for (const container of [containerOf(id), docker.getContainer(names.before(id))]) {
      const found = await orNull(container.inspect())
      if (!found || !isOurs(id, found)) continue
      await endUnknown(id, found)
      await removeContainer(container)
      // What its image declared goes with it, also where the engine takes it for a volume that somebody named.
      for (const { name } of volumesOf(found)) {
        if (!names.isVolume(name)) await removeVolume(docker.getVolume(name))
      }
    }
    await replacement.removeSaved(id)
    deps.onReplaced(id)
  }

  async function list(): Promise<MachineListing[]> {
    const filters = { label: [INSTANCE_LABEL] }
    const [containers, saved] = await translated('listing machines', () =>
      Promise.all([docker.listContainers({ all: true, filters }), replacement.savedIds()]),
    )
    // An image without a container is what a removal left that was cut short; listed, so that a sweep removes it.
    const states = new Map<string, MachineListing['state']>(saved.map(id => [id, 'created']))
    const isPredecessor = ({ Names }: Docker.ContainerInfo) => Names.some(name => name.endsWith('.before'))
    for (const container of [
      ...containers.filter(isPredecessor),
      ...containers.filter(one => !isPredecessor(one)),
    ]) {
      const id = machineOf(container.Labels, cloudId)
      if (id) states.set(id, stateOf(container.State))
    }
    return [...states].map(([id, state]) => ({ id, state }))
  }

  const machines: Machines = {
    create: async (spec, signal) => {
      checkSpec(spec)
      deps.prepare()
      await change(spec.id, 'creating', signal, () => create(spec, signal))
    },
    start: (id, signal) =>
      change(id, 'starting', signal, async () => {
        if (!MACHINE_ID_PATTERN.test(id)) throw new ComputeError('not_found', `no machine ${id}`)
        await deps.admit()
        await start(id, signal)
      }),
    wait_to_begin: false,
    probe,
    begin: probe,
    stop: async (id, signal, options) => {
      const graceS = options?.at_once ? 0 : STOP_GRACE_S
      if (!MACHINE_ID_PATTERN.test(id)) return
      await change(id, 'stopping', signal, () => stop(id, graceS, signal))
      deps.onEnded(id)
    },
    remove: async (id, signal) => {
      if (MACHINE_ID_PATTERN.test(id)) await change(id, 'removing', signal, () => remove(id))
    },
    list,
  }
  return { machines, status }
}

function checkSpec(spec: MachineSpec): void {
  if (!MACHINE_ID_PATTERN.test(spec.id)) throw new ComputeError('unsupported', `not a machine id: ${spec.id}`)
  if (!HOSTNAME_PATTERN.test(spec.hostname)) {
    throw new ComputeError('unsupported', `not a hostname: ${spec.hostname}`)
  }
  checkMounts(spec.volumes ?? [])
}

async function removeVolume(volume: Docker.Volume): Promise<void> {
  try {
    await volume.remove()
  } catch (error) {
    // Gone with its container, or that of the container which took its place.
    if (!isMissing(error) && statusCodeOf(error) !== STATUS_CONFLICT) throw error
  }
}

async function removeContainer(container: Docker.Container): Promise<void> {
  const deadline = Date.now() + REMOVE_TIMEOUT_MS
  for (;;) {
    try {
      await container.remove({ force: true, v: true })
      return
    } catch (error) {
      if (isMissing(error)) return
      // Being removed already by somebody else.
      if (statusCodeOf(error) !== STATUS_CONFLICT || Date.now() > deadline) throw error
      await new Promise(resolve => setTimeout(resolve, REMOVE_POLL_MS))
    }
  }
}

/** Does again what was refused because of what is gone now: an engine takes a moment to see it. */
async function untilFree(begin: () => Promise<unknown>, timeoutMs: number): Promise<void> {
  const deadline = Date.now() + timeoutMs
  for (;;) {
    try {
      return void (await begin())
    } catch (error) {
      if (!isInTheWay(error) || Date.now() >= deadline) throw error
      await new Promise(resolve => setTimeout(resolve, FREE_POLL_MS))
    }
  }
}

function stateOf(engineState: string): MachineListing['state'] {
  if (engineState === 'created') return 'created'
  return ['running', 'paused', 'restarting'].includes(engineState) ? 'running' : 'stopped'
}

function asList(value: string | string[] | undefined | null): string[] {
  if (!value) return []
  return Array.isArray(value) ? value : [value]
}
