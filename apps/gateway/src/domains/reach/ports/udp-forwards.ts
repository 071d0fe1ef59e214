import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'
import type { Logger } from 'pino'
import { openDatagrams } from '../../../drivers/compute/port/datagram-line.ts'
import type { UdpFlow } from '../../../drivers/compute/port/network.ts'
import type { Target } from '../../instances/instances.ts'
import type { MachineWays } from '../machine-ways.ts'
import type { TcpForwards } from './tcp-forwards.ts'

/** Ports of this computer that pass datagrams to ports of instances. */
export type UdpForwards = Pick<TcpForwards, 'open' | 'keepOnly' | 'closeInstance' | 'targets' | 'shutdown'>

/** Bounds of what strangers may keep here by sending datagrams, whose senders may be made up. */
export interface UdpLimits {
  /** Senders that are answered at a time through one port. */
  flowsPerPortMax: number
  /** How long nothing may come from or go to a sender before it is forgotten. */
  quietMs: number
}

const UDP_LIMITS: UdpLimits = { flowsPerPortMax: 64, quietMs: 60_000 }

/** Datagrams of a sender that wait for the way into the machine. */
const WAITING_MAX = 8
/** How long a sender is not heard whom the machine could not be reached for. */
const FAILED_MS = 1_000

/** One sender at one port. */
interface Flow {
  /** Null until the machine is reached. */
  way: UdpFlow | null
  waiting: Buffer[]
  timer: NodeJS.Timeout
}

interface Forward {
  socket: Socket
  /** Null where it could not be had. */
  listening: Promise<number | null>
  flows: Map<string, Flow>
}

/**
 * Makes ports of this computer that pass datagrams to ports of instances (R2.23). Each sender has a way of its own into
 * the machine, so that answers find back.
 * @param deps `host` is the address that is listened on, such as `127.0.0.2`.
 */
export function createUdpForwards(deps: {
  host: string
  ways: Pick<MachineWays, 'udp'>
  log: Pick<Logger, 'warn' | 'debug'>
  limits?: Partial<UdpLimits> | undefined
  /** Told of a port that could not be opened, with the system's code. */
  onFailure?(port: number, code: string): void
}): UdpForwards {
  const { host, ways, log, onFailure } = deps
  const limits = { ...UDP_LIMITS, ...deps.limits }
  const opened = new Map<string, { target: Target; forwards: Map<number, Forward> }>()
  let isShut = false

  function start(instanceId: string, port: number, publicPort: number): Forward {
    const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4')
    const flows = new Map<string, Flow>()
    socket.on('message', (datagram, from) => {
      const key = `${from.address} ${from.port}`
      const flow = flows.get(key) ?? (flows.size < limits.flowsPerPortMax ? begin(key, from) : null)
      if (!flow) return
      flow.timer.refresh()
      if (flow.way) flow.way.send(datagram)
      else if (flow.waiting.length < WAITING_MAX) flow.waiting.push(datagram)
    })
    socket.bind({ address: host, port: publicPort })
    const listening = once(socket, 'listening').then(
      () => {
        socket.on('error', error => log.warn({ err: error }, 'a forwarded UDP port failed'))
        return socket.address().port
      },
      error => {
        log.warn({ err: error, instance: instanceId, port }, 'a UDP port could not be forwarded')
        onFailure?.(port, String((error as NodeJS.ErrnoException).code))
        socket.close()
        return null
      },
    )

    function begin(key: string, from: RemoteInfo): Flow {
      const flow: Flow = {
        way: null,
        waiting: [],
        timer: setTimeout(() => forget(key), limits.quietMs).unref(),
      }
      flows.set(key, flow)
      ways.udp(instanceId, port).then(
        line => {
          const way = openDatagrams(line)
          if (flows.get(key) !== flow) return way.close()
          flow.way = way
          way.onDatagram(datagram => {
            flow.timer.refresh()
            socket.send(datagram, from.port, from.address, () => undefined)
          })
          way.onClose(() => forget(key))
          for (const datagram of flow.waiting.splice(0)) way.send(datagram)
        },
        error => {
          log.debug({ err: error, instance: instanceId, port }, 'a UDP port could not be reached')
          setTimeout(() => forget(key), FAILED_MS).unref()
        },
      )
      return flow
    }

    function forget(key: string): void {
      const flow = flows.get(key)
      flows.delete(key)
      clearTimeout(flow?.timer)
      flow?.way?.close()
    }

    return { socket, listening, flows }
  }

  function close({ socket, listening, flows }: Forward): void {
    for (const { way, timer } of flows.values()) {
      clearTimeout(timer)
      way?.close()
    }
    flows.clear()
    void listening.then(port => port !== null && socket.close())
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
        const publicPort = await forward.listening
        if (publicPort === null) forwards.delete(port)
        else found.set(port, publicPort)
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
    targets: () => [...opened.values()].map(({ target }) => target),
    shutdown: () => {
      isShut = true
      for (const instanceId of [...opened.keys()]) closeInstance(instanceId)
    },
  }
}
