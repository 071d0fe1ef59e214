import { createHash } from 'node:crypto'
import type { Duplex } from 'node:stream'
import type Docker from 'dockerode'
import type { Logger } from 'pino'
import { ComputeError } from '../port/compute-error.ts'
import { CLOUD_LABEL, createNames } from './container-plan.ts'
import { isMissing, orNull, statusCodeOf } from './docker-errors.ts'
import type { ContainerRun } from './docker-run.ts'
import { ensureGuardImage, HOST_ROOT } from './guard-image.ts'
import { RelayLine } from './relay-line.ts'
import { RELAY_CONNECT, RELAY_KEEP_SCRIPT } from './relay-script.ts'

/** What a relay runs as and for which run of its machine, as a digest: another one takes its place. */
const RELAY_LABEL = 'berth.relay'
const STATUS_NOT_MODIFIED = 304
const STATUS_CONFLICT = 409
/** Connections of one machine that go through its relay at the same time; those to its address are not among them. */
const CONNECTIONS_MAX = 64
/** Two for each connection, one that waits for the next, and the relay's own. */
const PROCESSES_MAX = 2 * CONNECTIONS_MAX + 16
const MEMORY_BYTES_MAX = 384 * 1024 * 1024
/** A machine to which nobody has been connected for so long has its relay end. */
const IDLE_MS = 2 * 60_000
/** From a process's start until it can be asked, on a computer that does much else. */
const READY_TIMEOUT_MS = 15_000
const CONNECT_TIMEOUT_MS = 5_000
/** One that ends just now is in the way of the next one for a moment. */
const MAKE_TRIES_MAX = 5
const MAKE_RETRY_MS = 200
/** A computer on which no relay works is not tried again before. */
const LACKING_MS = 5 * 60_000
/** Of `nobody`, on every system: it has a right to nothing. */
const NOBODY = '65534:65534'
const LOOPBACKS = ['127.0.0.1', '::1']

interface Relay {
  run: ContainerRun
  container: Promise<Docker.Container>
  /** A process that waits for the next connection, since to start one takes a tenth of a second. */
  spare: Promise<RelayLine> | null
  lines: Set<RelayLine>
  idle: NodeJS.Timeout | undefined
}

/** Ways to what listens on nothing but a machine's own loopback, or on a port that its engine does not publish. */
export interface DockerRelays {
  /** Whether a relay of that run of a machine is there, so that a port is tried at once. */
  isThere(run: ContainerRun): boolean
  /**
   * Connects to a port from inside the network of that run of a machine: by its address there, then by its loopback.
   * @returns Null where nothing takes the connection, or the engine's computer has nothing to make it by.
   * @throws ComputeError `exhausted` where as many are open as may be, `failed`; or what dockerode throws, also where that
   *   run has ended.
   */
  connect(run: ContainerRun, port: number): Promise<Duplex | null>
  /** Ends what is open of a machine that has ended; its relay ends by itself. */
  letGo(id: string): void
  /** Removes the relay of a machine that is removed. */
  remove(id: string): Promise<void>
  /** Ends all that is open. */
  close(): void
}

/**
 * Makes relays: for a machine that somebody is connected to by its loopback, a container in the network of its own, of the
 * guard's image. It is nobody, has no rights, and listens on nothing. It ends with the machine, and when the gateways that
 * used it are gone.
 */
export function createDockerRelays(deps: {
  docker: Docker
  cloudId: string
  /** What runs it, on its computer's own kernel; left out for the engine's own choice. */
  runtime: string | undefined
  log: Logger
}): DockerRelays {
  const { docker, cloudId, log } = deps
  const names = createNames(cloudId)
  const relays = new Map<string, Relay>()
  let lackingUntilMs = Number.NEGATIVE_INFINITY

  function relayOf(run: ContainerRun): Relay {
    const known = relays.get(run.id)
    if (known && known.run.key === run.key) return known
    if (known) drop(known)
    const relay: Relay = { run, container: make(run), spare: null, lines: new Set(), idle: undefined }
    relays.set(run.id, relay)
    relay.container.catch(() => drop(relay))
    return relay
  }

  /** Forgets a relay with all that goes through it. Its container finds that nobody is in it any more. */
  function drop(relay: Relay): void {
    clearTimeout(relay.idle)
    if (relays.get(relay.run.id) === relay) relays.delete(relay.run.id)
    relay.spare?.then(line => line.destroy()).catch(() => undefined)
    relay.spare = null
    for (const line of relay.lines) line.destroy()
  }

  async function make(run: ContainerRun): Promise<Docker.Container> {
    await ensureGuardImage(docker, names.guardImage)
    const plan = planRelay(deps, run)
    const container = docker.getContainer(names.relay(run.id))
    for (let tries = 1; ; tries++) {
      try {
        const found = await orNull(container.inspect())
        if (found?.State.Running && found.Config.Labels[RELAY_LABEL] === plan.Labels?.[RELAY_LABEL])
          return container
        if (found) await orNull(container.remove({ force: true }))
        await docker.createContainer(plan)
        await container.start()
        return container
      } catch (error) {
        const code = statusCodeOf(error)
        if (code === STATUS_NOT_MODIFIED) return container
        // Another gateway was quicker, or one that ended is not gone yet.
        const isInTheWay = code === STATUS_CONFLICT || isMissing(error)
        if (!isInTheWay || tries === MAKE_TRIES_MAX) throw error
        await new Promise(resolve => setTimeout(resolve, MAKE_RETRY_MS))
      }
    }
  }

  /** Starts a process in a relay, and waits until it can be asked. */
  async function begin(relay: Relay): Promise<RelayLine> {
    const container = await relay.container
    const exec = await container.exec({ AttachStdin: true, AttachStdout: true, Cmd: [...RELAY_CONNECT] })
    const line = new RelayLine(await exec.start({ hijack: true, stdin: true }))
    const word = await line.word(READY_TIMEOUT_MS)
    if (word === 'ready') return line
    line.destroy()
    if (word !== 'neither')
      throw new ComputeError('failed', 'the relay of the machine’s network does not start')
    lackingUntilMs = performance.now() + LACKING_MS
    const why = 'the engine’s computer has neither perl nor python3, by which a machine’s loopback is reached'
    log.warn(why)
    throw new ComputeError('unsupported', why)
  }

  function keepSpare(relay: Relay): void {
    const spare = begin(relay)
    relay.spare = spare
    const gone = () => {
      if (relay.spare === spare) relay.spare = null
    }
    spare.then(line => line.once('close', gone), gone)
  }

  /** A process that waited or, where there is none, a new one. */
  async function take(relay: Relay): Promise<RelayLine> {
    const spare = relay.spare
    // Before anything is waited for: another connection takes another one.
    relay.spare = null
    const line = await spare?.catch(() => null)
    return line && !line.destroyed ? line : begin(relay)
  }

  function hold(relay: Relay, line: RelayLine): void {
    clearTimeout(relay.idle)
    relay.lines.add(line)
    line.once('close', () => {
      relay.lines.delete(line)
      rest(relay)
    })
  }

  function rest(relay: Relay): void {
    if (relay.lines.size > 0 || relays.get(relay.run.id) !== relay) return
    clearTimeout(relay.idle)
    relay.idle = setTimeout(() => drop(relay), IDLE_MS)
    relay.idle.unref()
  }

  async function tryOnce(run: ContainerRun, port: number): Promise<RelayLine | null> {
    const relay = relayOf(run)
    if (relay.lines.size >= CONNECTIONS_MAX)
      throw new ComputeError('exhausted', `${run.id} has ${CONNECTIONS_MAX} connections to its loopback`)
    const line = await take(relay)
    hold(relay, line)
    if (!relay.spare) keepSpare(relay)
    const places = [...(run.address ? [run.address] : []), ...LOOPBACKS]
    const said = await line.ask([port, ...places].join(' '), CONNECT_TIMEOUT_MS)
    if (said === 'open') return line
    line.destroy()
    if (said === 'closed') return null
    drop(relay)
    throw new ComputeError('failed', 'the relay of the machine’s network broke')
  }

  return {
    isThere: run => relays.get(run.id)?.run.key === run.key,
    async connect(run, port) {
      if (performance.now() < lackingUntilMs) return null
      const wasThere = relays.get(run.id)?.run.key === run.key
      try {
        return await tryOnce(run, port)
      } catch (error) {
        if (error instanceof ComputeError && error.code === 'unsupported') return null
        const isFinal = error instanceof ComputeError && error.code === 'exhausted'
        if (isFinal || !wasThere) throw error
        // What was there may have gone by itself meanwhile, such as with the daemon.
        const relay = relays.get(run.id)
        if (relay) drop(relay)
        return tryOnce(run, port)
      }
    },
    letGo(id) {
      const relay = relays.get(id)
      if (relay) drop(relay)
    },
    async remove(id) {
      const relay = relays.get(id)
      if (relay) drop(relay)
      await orNull(docker.getContainer(names.relay(id)).remove({ force: true })).catch(error => {
        // It is ending by itself.
        if (statusCodeOf(error) !== STATUS_CONFLICT) throw error
      })
    },
    close() {
      for (const relay of [...relays.values()]) drop(relay)
    },
  }
}

function planRelay(
  { cloudId, runtime }: { cloudId: string; runtime: string | undefined },
  run: ContainerRun,
): Docker.ContainerCreateOptions {
  const { relay, guardImage } = createNames(cloudId)
  const plan: Docker.ContainerCreateOptions = {
    name: relay(run.id),
    Image: `${guardImage.repo}:${guardImage.tag}`,
    Entrypoint: ['/bin/sh', '-c', RELAY_KEEP_SCRIPT, 'relay'],
    User: NOBODY,
    HostConfig: {
      ...(runtime === undefined ? {} : { Runtime: runtime }),
      // By id: a name may be another container's in a moment.
      NetworkMode: `container:${run.container_id}`,
      AutoRemove: true,
      ReadonlyRootfs: true,
      CapDrop: ['ALL'],
      // Without labels of SELinux it could not read the programs.
      SecurityOpt: ['no-new-privileges', 'label=disable'],
      Mounts: [{ Type: 'bind', Source: '/', Target: HOST_ROOT, ReadOnly: true }],
      Memory: MEMORY_BYTES_MAX,
      PidsLimit: PROCESSES_MAX,
      LogConfig: { Type: 'none', Config: {} },
    },
  }
  const digest = createHash('sha256')
    .update(JSON.stringify([plan, run.key]))
    .digest('hex')
  return { ...plan, Labels: { [CLOUD_LABEL]: cloudId, [RELAY_LABEL]: digest } }
}
