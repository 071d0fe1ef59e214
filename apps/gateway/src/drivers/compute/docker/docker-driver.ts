import Docker from 'dockerode'
import type { Logger } from 'pino'
import { createKeyedQueue } from '../keyed-queue.ts'
import { HOSTNAME_PATTERN, MACHINE_ID_PATTERN } from '../machine-id.ts'
import { listNvidiaGpus } from '../nvidia.ts'
import type { MachineListing, MachineSpec, MachineStatus } from '../port.ts'
import { type ComputeDriver, ComputeError } from '../port.ts'
import {
  createNames,
  INSTALLATION_LABEL,
  INSTANCE_LABEL,
  planContainer,
  planLimits,
  readOrigin,
  SHAPE_LABEL,
  shapeOf,
} from './container-plan.ts'
import { capabilitiesOf, type EngineInfo } from './docker-capabilities.ts'
import {
  answeredWithin,
  isMissing,
  orNull,
  statusCodeOf,
  toComputeError,
  translated,
} from './docker-errors.ts'
import { followEvents } from './docker-events.ts'
import { createDemuxer, runExec } from './docker-exec.ts'
import { connectPort } from './docker-ports.ts'
import { openDockerPty } from './docker-pty.ts'
import { createDockerStats } from './docker-stats.ts'
import { dockerReference, pullImage } from './pull-image.ts'
import { createReplacement } from './replace-container.ts'

export interface DockerDeps {
  /** Without it, Docker's own default. */
  socketPath?: string
  /** Marks this gateway's containers; another gateway on the same engine has another. `[a-z0-9-]`. */
  installationId: string
  log: Logger
  /** How long the engine may take to answer a short question. */
  answerTimeoutMs?: number
  /** A machine on more layers than this is put on one when its container is made anew. */
  layersMax?: number
}

/** How long a machine's processes have to end in good order, in seconds. */
const STOP_GRACE_S = 3
const ANSWER_TIMEOUT_MS = 15_000
/** The engine refuses more than 125 or so. */
const LAYERS_MAX = 100
const STATUS_NOT_MODIFIED = 304
const STATUS_CONFLICT = 409
const REMOVE_POLL_MS = 50
const REMOVE_TIMEOUT_MS = 30_000

/**
 * The driver over a Docker Engine: each machine is a container, found by labels, so the driver itself keeps
 * nothing. Fails with `engine_unavailable` when the engine does not answer. Machines go on running when the
 * gateway ends.
 */
export async function createDockerDriver(deps: DockerDeps): Promise<ComputeDriver> {
  const { installationId } = deps
  const docker = new Docker({ socketPath: deps.socketPath ?? '/var/run/docker.sock' })
  const log = deps.log.child({ driver: 'docker' })
  const names = createNames(installationId)
  const queue = createKeyedQueue()
  const soon = <T>(ask: (options: { abortSignal: AbortSignal }) => Promise<T>) =>
    answeredWithin(deps.answerTimeoutMs ?? ANSWER_TIMEOUT_MS, ask)
  const askInfo = docker.info.bind(docker) as (options: { abortSignal: AbortSignal }) => Promise<EngineInfo>
  const info = await translated('asking Docker about itself', () => soon(askInfo))
  const containerOf = (id: string) => docker.getContainer(names.container(id))
  const stats = createDockerStats()
  const replacement = createReplacement({
    docker,
    installationId,
    layersMax: deps.layersMax ?? LAYERS_MAX,
    log,
  })

  async function status(id: string): Promise<MachineStatus> {
    if (!MACHINE_ID_PATTERN.test(id)) return { state: 'absent' }
    try {
      const places = [containerOf(id), docker.getContainer(names.before(id))]
      for (const container of places) {
        const found = await orNull(soon(options => container.inspect(options)))
        if (!found) continue
        const { State } = found
        const state = stateOf(State.Status)
        if (state === 'running') return { state, started_at: new Date(State.StartedAt) }
        return state === 'stopped' ? { state, exit_code: State.ExitCode } : { state }
      }
      return { state: 'absent' }
    } catch (error) {
      throw toComputeError(error, `looking at ${id}`)
    }
  }

  /** Does one thing with a machine; the engine itself refuses where it is not there or does not run. */
  function talk<T>(id: string, doing: string, work: (container: Docker.Container) => Promise<T>): Promise<T> {
    return translated(`${doing} in ${id}`, async () => {
      if (!MACHINE_ID_PATTERN.test(id)) throw new ComputeError('not_found', `no machine ${id}`)
      return work(containerOf(id))
    })
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
    if (existing) return takeOn(spec, existing)
    const imageRef = dockerReference(spec.image)
    const { Config, Size } = await docker.getImage(imageRef).inspect()
    const origin = {
      entrypoint: asList(Config.Entrypoint),
      command: asList(Config.Cmd),
      env: Config.Env ?? [],
      size_bytes: Size,
    }
    await queue('network', () => ensureNetwork(docker, names.network, installationId))
    const plan = planContainer({ spec, installationId, imageRef, origin, cpusMax: info.NCPU })
    try {
      await docker.createContainer({ ...plan, abortSignal: signal })
    } catch (error) {
      // Another process of the same installation was quicker.
      if (statusCodeOf(error) !== STATUS_CONFLICT) throw error
    }
  }

  /** Gives a container that exists another spec, unless it runs. */
  async function takeOn(spec: MachineSpec, existing: Docker.ContainerInspectInfo): Promise<void> {
    if (stateOf(existing.State.Status) === 'running') return
    const { Labels } = existing.Config
    const origin = readOrigin(Labels)
    if (origin && Labels[SHAPE_LABEL] !== shapeOf(spec)) {
      await queue('network', () => ensureNetwork(docker, names.network, installationId))
      await replacement.replace(spec.id, existing, (imageRef, predecessor) =>
        planContainer({ spec, installationId, imageRef, origin, predecessor, cpusMax: info.NCPU }),
      )
      return stats.forget(spec.id)
    }
    const limits = planLimits(spec, info.NCPU)
    const { Memory, NanoCpus } = existing.HostConfig
    if (Memory !== limits.Memory || NanoCpus !== limits.NanoCpus) await containerOf(spec.id).update(limits)
  }

  async function stop(id: string, signal: AbortSignal): Promise<void> {
    try {
      await containerOf(id).stop({ t: STOP_GRACE_S, abortSignal: signal })
    } catch (error) {
      if (!isMissing(error) && statusCodeOf(error) !== STATUS_NOT_MODIFIED) throw error
    }
  }

  async function remove(id: string): Promise<void> {
    await removeContainer(containerOf(id))
    await removeContainer(docker.getContainer(names.before(id)))
    await replacement.removeSaved(id)
    stats.forget(id)
  }

  async function list(): Promise<MachineListing[]> {
    const filters = { label: [`${INSTALLATION_LABEL}=${installationId}`] }
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
      const id = container.Labels[INSTANCE_LABEL]
      if (id) states.set(id, stateOf(container.State))
    }
    return [...states].map(([id, state]) => ({ id, state }))
  }

  return {
    name: 'docker',
    capabilities: capabilitiesOf(info),
    gpus: async () => (info.Runtimes && 'nvidia' in info.Runtimes ? listNvidiaGpus() : []),
    hasImage: async image => {
      const reference = image.docker
      if (reference === null) return false
      const found = await translated(`looking for ${reference}`, () =>
        orNull(soon(() => docker.getImage(reference).inspect())),
      )
      return found !== null
    },
    pull: (image, onProgress, signal) => pullImage(docker, image, onProgress, signal),
    create: async (spec, signal) => {
      checkSpec(spec)
      await change(spec.id, 'creating', signal, () => create(spec, signal))
    },
    start: (id, signal) =>
      change(id, 'starting', signal, async () => {
        if (!MACHINE_ID_PATTERN.test(id)) throw new ComputeError('not_found', `no machine ${id}`)
        await containerOf(id)
          .start({ abortSignal: signal })
          .catch(error => {
            if (statusCodeOf(error) !== STATUS_NOT_MODIFIED) throw error
          })
      }),
    stop: async (id, signal) => {
      if (MACHINE_ID_PATTERN.test(id)) await change(id, 'stopping', signal, () => stop(id, signal))
    },
    remove: async (id, signal) => {
      if (MACHINE_ID_PATTERN.test(id)) await change(id, 'removing', signal, () => remove(id))
    },
    status,
    list,
    watch: onChange => {
      const listIds = async () => (await list()).map(machine => machine.id)
      return followEvents({ docker, installationId, listIds, onChange, log })
    },
    openPty: (id, options) => talk(id, 'opening a terminal', container => openDockerPty(container, options)),
    exec: (id, argv, options) =>
      talk(id, 'running a command', container => runExec(container, argv, options ?? {})),
    connect: (id, port) =>
      talk(id, `connecting to port ${port}`, container => connectPort(container, names.network, port)),
    stats: id => talk(id, 'measuring', container => stats.read(id, container)),
    logs: (id, { lines_max }) => talk(id, 'reading the log', container => readLogs(container, lines_max)),
    shutdown: async () => [],
  }
}

function checkSpec(spec: MachineSpec): void {
  if (!MACHINE_ID_PATTERN.test(spec.id)) throw new ComputeError('unsupported', `not a machine id: ${spec.id}`)
  if (!HOSTNAME_PATTERN.test(spec.hostname)) {
    throw new ComputeError('unsupported', `not a hostname: ${spec.hostname}`)
  }
}

/** Makes the installation's network, in which machines reach the internet but not one another. */
async function ensureNetwork(docker: Docker, name: string, installationId: string): Promise<void> {
  try {
    await docker.getNetwork(name).inspect()
  } catch (error) {
    if (!isMissing(error)) throw error
    await docker.createNetwork({
      Name: name,
      Driver: 'bridge',
      CheckDuplicate: true,
      Labels: { [INSTALLATION_LABEL]: installationId },
      Options: { 'com.docker.network.bridge.enable_icc': 'false' },
    })
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

async function readLogs(container: Docker.Container, linesMax: number): Promise<string> {
  const raw = await container.logs({ stdout: true, stderr: true, tail: linesMax, follow: false })
  const pieces: Buffer[] = []
  createDemuxer((_, piece) => pieces.push(piece))(raw)
  return Buffer.concat(pieces).toString()
}

function stateOf(engineState: string): MachineListing['state'] {
  if (engineState === 'created') return 'created'
  return ['running', 'paused', 'restarting'].includes(engineState) ? 'running' : 'stopped'
}

function asList(value: string | string[] | undefined | null): string[] {
  if (!value) return []
  return Array.isArray(value) ? value : [value]
}
