import { once } from 'node:events'
import { createServer } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import type { Connection } from '@berth/contract/instances'
import type { Logger } from 'pino'
import type { Database } from '../../../platform/database/database.ts'
import { isAnyAddress } from '../../../platform/http/hosts.ts'
import { createLoop } from '../../../platform/loop.ts'
import type { Instances, Target } from '../../instances/instances.ts'
import type { PortTroubles, PublicIps, ServedIp } from '../../public-ips/public-ips.ts'
import type { MachineWays } from '../machine-ways.ts'
import { type RunningInstance, runningOf } from '../running.ts'
import { carriesDatagrams } from './carries-datagrams.ts'
import type { Protocol } from './direct-ports.ts'
import { createTcpForwards, type TcpForwards } from './tcp-forwards.ts'
import { createUdpForwards, type UdpForwards, type UdpLimits } from './udp-forwards.ts'

/** How long a gateway that dies is waited for at its addresses: then another one on its computer listens there. */
const SERVED_MS = 12_000
/** How often it is said who listens, and addresses are looked for at which nobody does. */
const ROUND_MS = 4_000
/** Whoever may not open a port is not asked again at once; what another program has may be free in a moment. */
const RETRY_MS = { not_permitted: 60_000, taken: ROUND_MS } as const

type DirectWay = Connection['tcp'][number]

/** What is open at an address for the instance that has it. */
interface Open {
  target: Target
  tcp: TcpForwards
  udp: UdpForwards
  troubles: PortTroubles
  /** When ports that could not be opened are tried again, by `performance.now()`; null: none is closed. */
  retryAt: number | null
}

/** An address of this computer at which this gateway listens. */
interface Held {
  ip: ServedIp
  open: Open | null
  /** One look after the other. */
  settling: Promise<void>
}

export interface OwnAddressesDeps {
  db: Database
  log: Pick<Logger, 'warn' | 'debug' | 'error'>
  /** This gateway. */
  selfId: string
  publicIps: PublicIps
  instances: Pick<Instances, 'findRunning'>
  ways: Pick<MachineWays, 'connect' | 'udp'>
  /** Where the gateway's own servers listen, and direct ports of others: no instance's address. */
  ownHosts: readonly string[]
  udpLimits?: Partial<UdpLimits> | undefined
}

/**
 * Addresses that instances have for themselves: an instance's direct ports listen there by their own numbers, and nothing
 * else does. Of the gateways on whose computer an address is, one listens at it, as long as it lives.
 */
export function createOwnAddresses(deps: OwnAddressesDeps) {
  const { db, log, selfId, publicIps, instances, ways, ownHosts } = deps
  const held = new Map<string, Held>()
  let isShut = false
  /** One round after the other: each closes what it was not told of. */
  let rounds: Promise<void> = Promise.resolve()
  const loop = createLoop({ name: 'public-ips', pauseMs: ROUND_MS, log, run: round })

  function round(): Promise<void> {
    rounds = rounds.catch(() => undefined).then(serveAll)
    return rounds
  }

  async function serveAll(): Promise<void> {
    const found: string[] = []
    for (const { address, listen } of await publicIps.unserved()) {
      if (await isFree(listen)) found.push(address)
    }
    const served = await publicIps.serve(selfId, [...held.keys(), ...found], SERVED_MS)
    if (isShut) return
    const lost = new Set(held.keys())
    for (const ip of served) {
      lost.delete(ip.address)
      hold(ip)
    }
    // Somebody else took it for dead.
    for (const address of lost) {
      close(held.get(address))
      held.delete(address)
    }
  }

  /** Whether an address is this computer's, and none of those that the gateway needs itself. */
  async function isFree(listen: string): Promise<boolean> {
    if (ownHosts.some(host => host === listen || isAnyAddress(host))) return false
    const server = createServer()
    try {
      await once(server.listen({ host: listen, port: 0 }), 'listening')
      return true
    } catch {
      return false
    } finally {
      server.close()
    }
  }

  function hold(ip: ServedIp): void {
    const entry = held.get(ip.address)
    const isOther = !isDeepStrictEqual(entry?.ip, ip)
    const isDue = entry?.open?.retryAt != null && entry.open.retryAt <= performance.now()
    const kept = entry ?? { ip, open: null, settling: Promise.resolve() }
    kept.ip = ip
    held.set(ip.address, kept)
    if (isOther || isDue) settleSoon(kept)
  }

  function settle(entry: Held): Promise<void> {
    entry.settling = entry.settling.catch(() => undefined).then(() => look(entry))
    return entry.settling
  }

  function settleSoon(entry: Held): void {
    settle(entry).catch(error => {
      log.warn({ err: error, address: entry.ip.address }, 'ports of a public IP may be closed')
    })
  }

  /** Opens what is to be open at an address, and closes what is not. */
  async function look(entry: Held): Promise<void> {
    const { bound, listen } = entry.ip
    const running = bound && (await runningOf(instances, bound))
    if (entry.open && (!running || entry.open.target.instanceId !== running.id)) close(entry)
    // It may have gone to another gateway meanwhile.
    if (!bound || !running || isShut || held.get(entry.ip.address) !== entry) return
    entry.open ??= begin(listen, bound)
    await openPorts(entry, entry.open, running)
    // A stop that came before the ports were open had nothing to close.
    if (!(await runningOf(instances, bound))) close(entry)
  }

  function begin(host: string, target: Target): Open {
    const troubles: PortTroubles = {}
    const onFailure = (protocol: Protocol) => (port: number, code: string) => {
      troubles[`${protocol} ${port}`] = code === 'EACCES' || code === 'EPERM' ? 'not_permitted' : 'taken'
    }
    // What could not be opened is said once, and not each time that it is tried.
    const quiet = { warn: () => undefined, debug: log.debug.bind(log) }
    return {
      target,
      troubles,
      retryAt: null,
      tcp: createTcpForwards({ host, ways, log: quiet, onFailure: onFailure('tcp') }),
      udp: createUdpForwards({
        host,
        ways,
        log: quiet,
        limits: deps.udpLimits,
        onFailure: onFailure('udp'),
      }),
    }
  }

  async function openPorts({ ip }: Held, open: Open, running: RunningInstance): Promise<void> {
    const before = { ...open.troubles }
    for (const key of Object.keys(open.troubles)) delete open.troubles[key]
    const { instanceId } = open.target
    const udpPorts = await udpPortsOf(running)
    open.tcp.keepOnly(instanceId, running.tcpPorts)
    open.udp.keepOnly(instanceId, udpPorts)
    await open.tcp.open(open.target, byOwnNumbers(running.tcpPorts))
    await open.udp.open(open.target, byOwnNumbers(udpPorts))
    const kinds = Object.values(open.troubles)
    const waits = kinds.map(kind => RETRY_MS[kind])
    open.retryAt = waits.length === 0 ? null : performance.now() + Math.min(...waits)
    if (isDeepStrictEqual(before, open.troubles)) return
    const { address, listen } = ip
    if (kinds.length > 0) {
      log.warn({ address, listen, instance: instanceId, ...open.troubles }, 'ports of a public IP are closed')
    }
    await publicIps.noteTroubles(selfId, address, { ...open.troubles })
  }

  async function udpPortsOf({ id, udpPorts }: RunningInstance): Promise<number[]> {
    const [first] = udpPorts
    return first !== undefined && (await carriesDatagrams(ways, id, first)) ? udpPorts : []
  }

  function close(entry: Held | undefined): void {
    entry?.open?.tcp.shutdown()
    entry?.open?.udp.shutdown()
    if (entry) entry.open = null
  }

  /** Which ports of an address are closed, as far as whoever listens there knows; null where nobody does. */
  async function troublesAt(instanceId: string, address: string): Promise<PortTroubles | null> {
    const entry = held.get(address)
    if (!entry) return (await publicIps.listenerAt(address))?.troubles ?? null
    if (entry.open?.target.instanceId !== instanceId) {
      await round()
      await held.get(address)?.settling
    }
    return entry.open?.troubles ?? {}
  }

  return {
    /**
     * The ways to the direct ports of a running instance at its own address; null where it has none. They are open once
     * this returns, where this gateway listens there.
     */
    async waysTo(running: RunningInstance): Promise<{ tcp: DirectWay[]; udp: DirectWay[] } | null> {
      const bound = await publicIps.boundTo(db, running.id)
      if (!bound) return null
      const troubles = await troublesAt(running.id, bound.address)
      const way = (protocol: Protocol) => (port: number) => ({
        port,
        host: bound.address,
        public_port: port,
        trouble: troubles ? (troubles[`${protocol} ${port}`] ?? null) : ('no_gateway' as const),
      })
      const udpPorts = await udpPortsOf(running)
      return { tcp: running.tcpPorts.map(way('tcp')), udp: udpPorts.map(way('udp')) }
    },

    /** Whether an instance has an address of its own, so that it has no ports at the shared one. */
    has: async (instanceId: string) => (await publicIps.boundTo(db, instanceId)) !== null,

    /** How many came through a TCP port of an instance's own address so far; null where this gateway does not listen. */
    seen(instanceId: string, port: number): { host: string; publicPort: number; connections: number } | null {
      const entry = [...held.values()].find(({ open }) => open?.target.instanceId === instanceId)
      const seen = entry?.open?.tcp.seen(instanceId, port)
      return entry && seen ? { host: entry.ip.address, ...seen } : null
    },

    /** Looks at an instance that has changed, if it has an address here. */
    lookAt(instanceId: string): void {
      for (const entry of held.values()) if (entry.ip.bound?.instanceId === instanceId) settleSoon(entry)
    },

    /** Somebody has got an address, or given it back. */
    wake: () => loop.wake(),

    /** Looks at all, since something may have gone unheard. */
    lookAtAll(): void {
      loop.wake()
      for (const entry of held.values()) settleSoon(entry)
    },

    /** Begins to listen. Returns once the addresses of this computer are known to all gateways. */
    async start(): Promise<void> {
      await round()
      loop.start()
    },

    /** Closes all ports, and every way through them. */
    shutdown(): void {
      isShut = true
      for (const entry of held.values()) close(entry)
    },

    /** Leaves the addresses to other gateways of this computer. Call it after `shutdown`. */
    async stop(): Promise<void> {
      await loop.stop()
      await Promise.allSettled([...held.values()].map(({ settling }) => settling))
      for (const entry of held.values()) close(entry)
      // Whoever has the database again sees that nobody serves them any more; what is under way waits for it no longer.
      await publicIps
        .forget(selfId)
        .catch(error =>
          log.warn({ err: error }, 'the addresses of a gateway that leaves could not be let go'),
        )
    },
  }
}

export type OwnAddresses = ReturnType<typeof createOwnAddresses>

function byOwnNumbers(ports: readonly number[]): Map<number, number> {
  return new Map(ports.map(port => [port, port]))
}
