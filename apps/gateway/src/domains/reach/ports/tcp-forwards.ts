import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Logger } from 'pino'
import { joinStreams } from '../../../platform/streams/join-streams.ts'
import type { Target } from '../../instances/instances.ts'
import type { MachineWays } from '../machine-ways.ts'

/** Ports of this computer that lead to ports of instances (R2.23). */
export interface TcpForwards {
  /**
   * Opens what is not open yet and gives the port of this computer for each port of the instance that has one; none when
   * they were closed meanwhile.
   * @param ports The instance's ports, each with the one of this computer that it is to have; null for any that is free.
   */
  open(target: Target, ports: ReadonlyMap<number, number | null>): Promise<Map<number, number>>
  /** Closes those of an instance that lead to none of these ports, and every connection through them. */
  keepOnly(instanceId: string, ports: readonly number[]): void
  /** Closes them all, and every connection through them. */
  closeInstance(instanceId: string): void
  /** The port of this computer for one of an instance, and how many came through it so far; null where it is not open. */
  seen(instanceId: string, port: number): { publicPort: number; connections: number } | null
  /** Instances that have any, with their owners. */
  targets(): Target[]
  /** Takes no new connection. @returns Once none that was open before is open any more. */
  leave(): Promise<void>
  shutdown(): void
}

/** Connections that are open at a time through one port. */
const CONNECTIONS_PER_PORT_MAX = 128

interface Forward {
  listening: Promise<{ port: number; server: Server }>
  sockets: Set<Socket>
  /** Null until it listens. */
  publicPort: number | null
  /** How many came so far. */
  connections: number
}

/**
 * Makes the forwards. Each is a listener: whoever reaches `host` reaches the instance's port.
 * @param deps `host` is the address that is listened on, such as `127.0.0.2`.
 */
export function createTcpForwards(deps: {
  host: string
  ways: Pick<MachineWays, 'connect'>
  log: Pick<Logger, 'warn' | 'debug'>
  /** Told of a port that could not be opened, with the system's code. */
  onFailure?(port: number, code: string): void
}): TcpForwards {
  const { host, ways, log, onFailure } = deps
  const opened = new Map<string, { target: Target; forwards: Map<number, Forward> }>()
  let isShut = false

  function start(instanceId: string, port: number, publicPort: number): Forward {
    const sockets = new Set<Socket>()
    const server = createServer({ allowHalfOpen: true, noDelay: true }, socket => {
      forward.connections++
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
      socket.once('close', () => sockets.delete(socket))
      ways.connect(instanceId, port).then(
        // A client that left before the stream came would never close it.
        stream => (socket.destroyed ? discard(stream) : joinStreams(socket, stream)),
        error => {
          log.debug({ err: error, instance: instanceId, port }, 'a TCP port could not be reached')
          socket.destroy()
        },
      )
    })
    server.maxConnections = CONNECTIONS_PER_PORT_MAX
    const listening = new Promise<{ port: number; server: Server }>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ host, port: publicPort }, () => {
        server.on('error', error => log.warn({ err: error }, 'a forwarded TCP port failed'))
        forward.publicPort = (server.address() as AddressInfo).port
        resolve({ port: forward.publicPort, server })
      })
    })
    const forward: Forward = { listening, sockets, publicPort: null, connections: 0 }
    return forward
  }

  function close({ listening, sockets }: Forward): void {
    listening.then(
      ({ server }) => server.close(),
      () => undefined,
    )
    for (const socket of sockets) socket.destroy()
  }

  function closeInstance(instanceId: string): void {
    for (const forward of opened.get(instanceId)?.forwards.values() ?? []) close(forward)
    opened.delete(instanceId)
  }

  return {
    async open(target, ports) {
      const { instanceId } = target
      const { forwards } = opened.get(instanceId) ?? { forwards: new Map<number, Forward>() }
      const found = new Map<number, number>()
      if (isShut) return found
      opened.set(instanceId, { target, forwards })
      for (const [port, wanted] of ports) {
        const forward = forwards.get(port) ?? start(instanceId, port, wanted ?? 0)
        forwards.set(port, forward)
        try {
          found.set(port, (await forward.listening).port)
        } catch (error) {
          // Somebody else has it, say. It is left out of the answer and tried again with the next call.
          log.warn({ err: error, instance: instanceId, port }, 'a TCP port could not be forwarded')
          forwards.delete(port)
          onFailure?.(port, String((error as NodeJS.ErrnoException).code))
        }
        // Whoever closed them closed all that were there; one that is opened now would stay for ever.
        if (opened.get(instanceId)?.forwards !== forwards) return new Map()
      }
      return found
    },
    keepOnly(instanceId, ports) {
      const { forwards } = opened.get(instanceId) ?? {}
      for (const [port, forward] of forwards ?? []) {
        if (ports.includes(port)) continue
        forwards?.delete(port)
        close(forward)
      }
    },
    closeInstance,
    seen(instanceId, port) {
      const { publicPort = null, connections = 0 } = opened.get(instanceId)?.forwards.get(port) ?? {}
      return publicPort === null ? null : { publicPort, connections }
    },
    targets: () => [...opened.values()].map(({ target }) => target),
    async leave() {
      isShut = true
      const all = [...opened.values()].flatMap(({ forwards }) => [...forwards.values()])
      // A server is closed once the last of its connections is.
      await Promise.allSettled(
        all.map(async ({ listening }) => {
          const { server } = await listening
          await new Promise(resolve => server.close(resolve))
        }),
      )
    },
    shutdown: () => {
      isShut = true
      for (const instanceId of [...opened.keys()]) closeInstance(instanceId)
    },
  }
}

function discard(stream: Duplex): void {
  stream.on('error', () => undefined).destroy()
}
