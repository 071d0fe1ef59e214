import type Docker from 'dockerode'
import type { Logger } from 'pino'
import { consoleOver } from '../console-over.ts'
import { MACHINE_ID_PATTERN } from '../machine-id.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { Engine } from '../port/engine.ts'
import { createNames } from './container-plan.ts'
import { findDiskBound } from './disk-bound.ts'
import { createDockerBuilds } from './docker-builds.ts'
import { capabilitiesOf, type EngineInfo } from './docker-capabilities.ts'
import { createDockerDiskWatch, dockerRoom } from './docker-disk-watch.ts'
import { answeredWithin, translated } from './docker-errors.ts'
import { followEvents } from './docker-events.ts'
import { runExec } from './docker-exec.ts'
import { watchIdentity } from './docker-identity.ts'
import { createDockerImages } from './docker-images.ts'
import { createLeftovers } from './docker-leftovers.ts'
import { createDockerLink, type DockerPlace } from './docker-link.ts'
import { followLogs, readKeptLog, readLogs } from './docker-logs.ts'
import { createDockerMachines } from './docker-machines.ts'
import { connectPort } from './docker-ports.ts'
import { runProgram } from './docker-program.ts'
import { createDockerRelays } from './docker-relays.ts'
import { hostRuntime, mustKnowRuntime } from './docker-runtime.ts'
import { createDockerSampler } from './docker-sampler.ts'
import { isOnThisComputer, limitableDisk, sizeOf } from './docker-size.ts'
import { createDockerUdp } from './docker-udp.ts'
import { createDockerVolumes } from './docker-volumes.ts'
import { createEgressGuard, type EgressPolicy } from './egress-guard.ts'
import { createKeeperClient } from './keeper-client.ts'
import { createVolumeHelper } from './volume-helper.ts'

export interface DockerDeps {
  place: DockerPlace
  /** Whose machines these are; another cloud on the same engine has another. `[a-z0-9-]`. */
  cloudId: string
  /** What machines may reach; null leaves everything open to them that the engine does. */
  egress: EgressPolicy | null
  /** What runs machines, of the runtimes that the daemon knows; left out for the daemon's own choice. */
  runtime?: string
  log: Logger
  /** How long the engine may take to answer a short question. */
  answerTimeoutMs?: number
  /** How much of the engine's disk machines are to leave free; without it a twentieth, from 1 to 10 GB. */
  keptFreeMb?: number
  /** A machine on more layers than this is put on one when its container is made anew. */
  layersMax?: number
}

const ANSWER_TIMEOUT_MS = 15_000

/**
 * Opens a Docker Engine: each machine is a container, found by labels, so that nothing is kept here. Fails with
 * `engine_unavailable` when the engine does not answer. Machines go on running when the gateway ends.
 */
export async function createDockerEngine(deps: DockerDeps): Promise<Engine> {
  const { cloudId } = deps
  const log = deps.log.child({ driver: 'docker' })
  const link = createDockerLink(deps.place, log)
  const { docker } = link
  const names = createNames(cloudId)
  const soon = <T>(ask: (options: { abortSignal: AbortSignal }) => Promise<T>) =>
    answeredWithin(deps.answerTimeoutMs ?? ANSWER_TIMEOUT_MS, ask)
  const askInfo = docker.info.bind(docker) as (options: { abortSignal: AbortSignal }) => Promise<EngineInfo>
  const askAboutItself = () => translated('asking Docker about itself', () => soon(askInfo))
  const info = await askAboutItself()
  if (!info.ID) throw new ComputeError('failed', 'Docker does not tell its id')
  mustKnowRuntime(info, deps.runtime)
  const disk = await limitableDisk(info, link.is_here)
  const diskBound = await findDiskBound(docker, info, { name: names.diskTrial, image: names.guardImage })
  const identity = watchIdentity({ docker, engineId: idOf(info), idOf, ask: askAboutItself })
  const keeper = createKeeperClient({ engine: `${info.ID}/${cloudId}`, place: deps.place })
  const guard =
    deps.egress &&
    createEgressGuard({ docker, cloudId, policy: deps.egress, runtime: hostRuntime(info), log })
  // Machines that run already need it, too; what it fails with is told as a capability.
  await guard?.hold().catch(() => undefined)
  const room = await dockerRoom(info, {
    isHere: isOnThisComputer(info, link.is_here),
    keptFreeMb: deps.keptFreeMb,
  })
  const diskWatch =
    room && createDockerDiskWatch({ docker, cloudId, root: info.DockerRootDir ?? '', room, log })
  const sampler = createDockerSampler((id, work) => talk(id, 'measuring', work), {
    isHere: isOnThisComputer(info, link.is_here),
  })
  const admit = async () => {
    if ((await room?.())?.isShort)
      throw new ComputeError('no_room', 'the disk of the engine’s computer is nearly full')
    await guard?.admit()
  }
  /** The engine's own part in each container. */
  const terms = {
    cpusMax: info.NCPU,
    runtime: deps.runtime,
    diskBound,
    diskNode: 'node' in disk ? disk.node : null,
  }
  const images = createDockerImages({ docker, cloudId, soon, room })
  const relays = createDockerRelays({ docker, cloudId, runtime: hostRuntime(info), log })
  const { machines, status } = createDockerMachines({
    docker,
    cloudId,
    ...terms,
    publishAddress: link.publish_address,
    soon,
    log,
    layersMax: deps.layersMax,
    leftovers: createLeftovers({ docker, cloudId, runtime: hostRuntime(info) }),
    prepare: () => guard?.prepare(),
    admit,
    onEnded: id => {
      sampler.letGo(id)
      relays.letGo(id)
    },
    onReplaced: sampler.forget,
    onRemoving: relays.remove,
  })

  const follow = (onChange: (id: string) => void, onHearing?: () => void) => {
    const listIds = async () => (await machines.list()).map(machine => machine.id)
    return followEvents({
      docker,
      cloudId,
      listIds,
      onChange,
      ...(onHearing && { onHearing }),
      onBroken: identity.doubt,
      log,
    })
  }
  const udp = createDockerUdp({ link, network: names.network, followEvents: follow })

  /** Does one thing with a machine; the engine itself refuses where it is not there or does not run. */
  function talk<T>(id: string, doing: string, work: (container: Docker.Container) => Promise<T>): Promise<T> {
    return translated(`${doing} in ${id}`, async () => {
      if (!MACHINE_ID_PATTERN.test(id)) throw new ComputeError('not_found', `no machine ${id}`)
      return work(docker.getContainer(names.container(id)))
    })
  }

  return {
    id: idOf(info),
    driver: 'docker',
    kinds: ['POD'],
    get capabilities() {
      const { ports_exposed } = link
      return {
        ...capabilitiesOf(info, { disk, diskBound, isWatched: room !== null, runtime: deps.runtime }),
        egress_filter: guard?.state() ?? NO_FILTER,
        ports_exposed,
      }
    },
    size: async () => {
      const told = await askAboutItself()
      identity.confirm(told)
      guard?.lookAgain()
      return sizeOf(told, link.is_here)
    },
    machines,
    images: {
      ...images,
      dockerfile: createDockerBuilds({ docker, cloudId, admit, pull: images.pull, ...terms }),
    },
    volumes: createDockerVolumes(
      docker,
      cloudId,
      createVolumeHelper({ docker, cloudId, runtime: hostRuntime(info) }),
    ),
    network: {
      connect: (id, port) =>
        talk(id, `connecting to port ${port}`, container =>
          connectPort({ id, container, network: names.network, link, relays }, port),
        ),
      udp: link.carries_udp
        ? {
            open: (id, port) =>
              talk(id, `opening UDP port ${port}`, container => udp.open(id, container, port)),
          }
        : { lacks: 'Datagrams do not pass through SSH, which carries streams alone.' },
    },
    console: {
      // The keeper runs on the gateway's computer; where that is the engine's too, all gateways there share it.
      shells_live: link.is_here ? 'with_engine' : 'beside_gateway',
      ...consoleOver((id, request) => {
        if (!MACHINE_ID_PATTERN.test(id)) throw new ComputeError('not_found', `no machine ${id}`)
        const asked = { ...request, machine: names.container(id) }
        return request.op === 'attach' ? keeper.ask(asked) : keeper.askIfThere(asked)
      }),
      exec: (id, argv, options) =>
        talk(id, 'running a command', container => runExec(container, argv, options ?? {})),
      programs: {
        run: (id, options) => talk(id, 'running a program', container => runProgram(container, options)),
      },
      serial: { lacks: 'A container boots no system of its own, so there is no serial line.' },
    },
    observation: {
      status,
      watch: onChange => follow(onChange),
      sample: sampler.sample,
      oom_kills: { count: sampler.oomKills },
      followLogs: (id, { lines_max }) =>
        talk(id, 'following the log', container => followLogs(container, lines_max)),
      keptLog: id => talk(id, 'reading the whole log', readKeptLog),
      logs: (id, { lines_max }) => talk(id, 'reading the log', container => readLogs(container, lines_max)),
      guest: { lacks: 'A container boots no system of its own that could say anything.' },
    },
    shutdown: async () => {
      await diskWatch?.close()
      sampler.close()
      relays.close()
      udp.close()
      guard?.close()
      link.close()
      return []
    },
  }
}

/** Of an engine whose machines nobody wants to keep from anything. */
const NO_FILTER = { enforced: false, why: 'It reaches what its host reaches: nothing is filtered' } as const

/** An engine's id, as the port knows it. */
function idOf(info: EngineInfo): string {
  return `docker:${info.ID}`
}
