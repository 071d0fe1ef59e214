import type { Duplex } from 'node:stream'
import type Docker from 'dockerode'
import { ComputeError } from '../port/compute-error.ts'
import { lineOf } from '../sessions/datagram-line.ts'
import { openUdpSocket } from '../sessions/udp-socket.ts'
import type { DockerLink } from './docker-link.ts'
import { type ContainerRun, runOf } from './docker-run.ts'

/** The engine's events are to be heard by then. */
const HEARING_TIMEOUT_MS = 5_000

/** Ways for datagrams into machines, each no longer open than the run of the machine that it was opened to. */
export interface DockerUdp {
  /**
   * Opens a way to a port of a container, at its own address or where it is published.
   * @throws ComputeError `not_running`, `port_closed`, `engine_unavailable`; or what dockerode throws.
   */
  open(id: string, container: Docker.Container, port: number): Promise<Duplex>
  close(): void
}

interface Way {
  run: ContainerRun
  container: Docker.Container
  line: Duplex
}

/**
 * Makes the ways. A datagram goes to an address and not to a machine, and the engine gives the address of a machine that
 * ended to the next one: so the engine's events are heard for as long as a way is open, and its run is looked at once more
 * when they are. What is on the way while a machine ends may still be lost, or found by the next one at that address.
 * @param deps.network The cloud's network, by name.
 * @param deps.followEvents Hears of what machines do by themselves: calls back with the id of each, and each time that it
 *   begins to hear, since something may have been missed. Returns the way to stop.
 */
export function createDockerUdp(deps: {
  link: Pick<DockerLink, 'reaches_containers'>
  network: string
  followEvents(onChange: (id: string) => void, onHearing: () => void): () => void
}): DockerUdp {
  const { link, network } = deps
  const ways = new Set<Way>()
  let ears: { hearing: Promise<void>; stop(): void } | null = null

  /** Ends a way into a run that is over, or that nobody can say anything of. */
  async function lookAt(way: Way): Promise<void> {
    const now = await runOf(way.container, way.run.id, network).catch(() => null)
    if (now?.key !== way.run.key) way.line.destroy()
  }

  function listen(): Promise<void> {
    if (ears) return ears.hearing
    const { promise, resolve } = Promise.withResolvers<void>()
    const stop = deps.followEvents(
      id => {
        for (const way of ways) if (way.run.id === id) void lookAt(way)
      },
      () => {
        resolve()
        for (const way of ways) void lookAt(way)
      },
    )
    ears = { hearing: promise, stop }
    return promise
  }

  function keep(way: Way): void {
    ways.add(way)
    way.line.once('close', () => {
      ways.delete(way)
      if (ways.size > 0) return
      ears?.stop()
      ears = null
    })
  }

  return {
    async open(id, container, port) {
      const run = await runOf(container, id, network)
      const { host, at } = placeOf(run, port, link)
      const line = lineOf(await openUdpSocket(host, at))
      const way = { run, container, line }
      keep(way)
      if (!(await within(listen(), HEARING_TIMEOUT_MS))) {
        line.destroy()
        throw new ComputeError('engine_unavailable', 'the engine does not tell what its machines do')
      }
      await lookAt(way)
      if (line.destroyed) throw new ComputeError('not_running', 'the machine ended while it was connected to')
      return line
    },
    close() {
      for (const { line } of ways) line.destroy()
    },
  }
}

function placeOf(
  run: ContainerRun,
  port: number,
  { reaches_containers }: Pick<DockerLink, 'reaches_containers'>,
) {
  if (reaches_containers && run.address) return { host: run.address, at: port }
  const published = run.published[`${port}/udp`]?.[0]
  if (published) return { host: published.HostIp || '127.0.0.1', at: Number(published.HostPort) }
  throw new ComputeError('port_closed', `UDP port ${port} was not among the machine’s ports when it was made`)
}

async function within(done: Promise<void>, timeoutMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>(resolve => {
    timer = setTimeout(resolve, timeoutMs, false)
  })
  return Promise.race([done.then(() => true), late]).finally(() => clearTimeout(timer))
}
