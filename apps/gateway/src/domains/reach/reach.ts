import { eq } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { Clock } from '../../platform/clock.ts'
import type { Database, Queryable } from '../../platform/database/database.ts'
import type { OpenDatabase } from '../../platform/database/open-database.ts'
import { directAddress } from '../../platform/direct-host.ts'
import type { Events } from '../../platform/events/events.ts'
import type { ServiceOrigin } from '../../platform/http/front-door.ts'
import type { Route } from '../../platform/http/handler.ts'
import type { RawRoute } from '../../platform/http/raw-routes.ts'
import type { Ids } from '../../platform/ids.ts'
import { accountDeleted } from '../identity/events.ts'
import type { Instances } from '../instances/instances.ts'
import type { PublicIps } from '../public-ips/public-ips.ts'
import { type ConnectionsDeps, createConnections } from './connections.ts'
import { createDoctor, type DoctorDeps } from './doctor/doctor.ts'
import type { FileLimits } from './files/file-limits.ts'
import { downloadRoute } from './files/file-routes.ts'
import { createFiles } from './files/files.ts'
import { logDownloadRoute } from './logs/log-download-route.ts'
import { createLogFollowers } from './logs/log-followers.ts'
import type { LogLimits } from './logs/log-limits.ts'
import { createMachineWays, type MachineWaysDeps } from './machine-ways.ts'
import { createDirectPorts, type PortRange } from './ports/direct-ports.ts'
import { createOwnAddresses } from './ports/own-addresses.ts'
import { createTcpForwards } from './ports/tcp-forwards.ts'
import { createUdpForwards, type UdpLimits } from './ports/udp-forwards.ts'
import { reachRoutes } from './routes.ts'
import { createServiceProxy, type ServiceLimits, type ServiceTarget } from './services/service-proxy.ts'
import { createSshAttempts, type SshAttempts } from './ssh/attempts.ts'
import { guestAccess } from './ssh/guest/derive-access.ts'
import { createSshBeside, type SshBeside, type SshParts } from './ssh/process/ssh-beside.ts'
import type { SshLimits } from './ssh/ssh-limits.ts'
import { createMachineTurns, type MachineTurns, PROCESS_CLOCKS } from './streams/machine-turns.ts'
import { STREAM_LIMITS, type StreamLimits } from './streams/stream-limits.ts'
import { sshAttempt, terminalTicket } from './tables.ts'
import type { TerminalLimits } from './terminal/terminal-limits.ts'
import { createTerminals, type Terminals } from './terminal/terminals.ts'
import { createTickets } from './tickets.ts'
import { createUses } from './uses.ts'

/** All ways into instances, put together. */
export interface Reach {
  terminals: Terminals
  serviceOrigin: ServiceOrigin<ServiceTarget>
  routes: Route[]
  /** Addresses that are no calls. */
  rawRoutes: RawRoute[]
  /** Begins to close what belongs to instances that stop and sessions that end. @returns The way to stop. */
  start(): Promise<() => Promise<void>>
  /** Null where this installation offers no SSH. */
  ssh: SshBeside | null
  /** How many direct ports are left to give, by protocol; null where they are not counted, `none` where nobody reaches any. */
  directPortsLeft(q: Queryable): Promise<Record<'tcp' | 'udp', number> | 'none' | null>
  /** Has a stream that carries what somebody sends read in turns, together with those of machines. */
  pace: MachineTurns['pace']
  /**
   * Sends whoever only looks to another gateway, and takes nobody new by SSH and by direct ports.
   * @returns Once nobody is connected by those any more.
   */
  leave(): Promise<void>
  /** Ends what is left. @returns Once those connected by SSH have been told. */
  shutdown(): Promise<void>
}

export interface ReachDeps {
  db: Database
  clock: Clock
  ids: Ids
  log: Logger
  listen: OpenDatabase['listen']
  /** Which gateway reaches an instance's machine. */
  whereIs: MachineWaysDeps['whereIs']
  gateways: MachineWaysDeps['gateways']
  instances: Pick<
    Instances,
    | 'findOwn'
    | 'findOwnEver'
    | 'findRunning'
    | 'findService'
    | 'ownerOf'
    | 'accessOf'
    | 'noteUsed'
    | 'noteNoPort'
  >
  publicIps: PublicIps
  /** This gateway: of several on one computer, one listens at an address that an instance has for itself. */
  selfId: string
  events: Pick<Events, 'on'>
  identity: {
    isSessionOpen(sessionId: string): Promise<boolean>
    watchSessions(onChange: () => void): Promise<() => void>
  }
  /** The interfaces that the gateway listens on, for customers and for other gateways. */
  host: string
  internalHost: string
  publicUrl: string | null
  /** What stands in front of the gateway, and is believed about who asks. */
  trustedProxies: readonly string[]
  serviceHost: string
  /** Gigabytes of one file that is uploaded to an instance. */
  uploadGbMax: number
  /**
   * Where direct ports of instances listen, how customers name that where it is otherwise, and what is given out. Without
   * a pool it is an address of this computer alone, whatever the gateway does.
   */
  direct: { host: string; name: string | null; ports: PortRange | null }
  /** What the SSH server is made of; null where none is wanted. */
  ssh: (SshParts & { place: ConnectionsDeps['sshPlace'] }) | null
  limits?: {
    findMs?: number
    files?: Partial<FileLimits>
    logs?: Partial<LogLimits>
    ssh?: Partial<SshLimits>
    terminal?: Partial<TerminalLimits>
    service?: Partial<ServiceLimits>
    streams?: Partial<StreamLimits>
    udp?: Partial<UdpLimits>
  }
}

/** What the doctor needs of SSH. */
function doctorsSsh({ sshKeys }: SshParts, attempts: SshAttempts): DoctorDeps['ssh'] {
  return { keys: sshKeys, attempts, guestAccess: instanceId => guestAccess(sshKeys, instanceId) }
}

/** Makes the ways into instances. Nothing listens by itself yet. */
export function createReach(deps: ReachDeps): Reach {
  const { instances, limits = {} } = deps
  deps.events.on(accountDeleted, 'reach', async (tx, { userId }) => {
    await tx.delete(terminalTicket).where(eq(terminalTicket.userId, userId))
    await tx.delete(sshAttempt).where(eq(sshAttempt.userId, userId))
  })
  const turns = createMachineTurns({ ...PROCESS_CLOCKS, limits: { ...STREAM_LIMITS, ...limits.streams } })
  const uses = createUses(deps)
  const ways = createMachineWays({ ...deps, turns, uses, findMs: limits.findMs })
  const tickets = createTickets(deps)
  const logFollowers = createLogFollowers({ ...deps, ways, tickets, limits: limits.logs })
  const files = createFiles({ ...deps, ways, tickets, limits: limits.files })
  const terminals = createTerminals({ ...deps, ways, tickets, limits: limits.terminal ?? {} })
  const { host, ports: pool } = deps.direct
  const own = createOwnAddresses({
    ...deps,
    ways,
    ownHosts: [deps.host, deps.internalHost, host],
    udpLimits: limits.udp,
  })
  // On a loopback interface customers are at this computer; elsewhere they reach what was opened for them.
  const shared = directAddress(deps.direct, deps.host)
  const direct = shared === null ? null : makeDirect(shared)
  function makeDirect(name: string) {
    const forwards = {
      tcp: createTcpForwards({ ...deps, ways, host }),
      udp: createUdpForwards({ ...deps, ways, host, limits: limits.udp }),
    }
    const ports = createDirectPorts({ ...deps, forwards, pool, hasOwnAddress: own.has })
    return { host: name, forwards: forwards.tcp, ports }
  }
  const attempts = createSshAttempts(deps)
  const ssh =
    deps.ssh &&
    createSshBeside({
      ...deps,
      ...deps.ssh,
      ways,
      attempts,
      uses,
      turns,
      limits: limits.ssh,
      streams: limits.streams,
    })
  const connections = createConnections({
    ...deps,
    ways,
    terminals,
    direct,
    own,
    ssh,
    sshPlace: deps.ssh?.place ?? null,
  })
  const doctor = createDoctor({
    ...deps,
    ways,
    seenTcp(instanceId, port) {
      const here = own.seen(instanceId, port)
      if (here || !direct) return here ?? 'not_offered'
      const seen = direct.forwards.seen(instanceId, port)
      return seen && { host: direct.host, ...seen }
    },
    ownWays: row => own.waysTo(row),
    ssh: deps.ssh && doctorsSsh(deps.ssh, attempts),
  })
  return {
    terminals,
    serviceOrigin: createServiceProxy({
      ...deps,
      ways,
      scheme: deps.publicUrl?.startsWith('https:') ? 'https' : 'http',
      limits: limits.service ?? {},
    }),
    routes: reachRoutes({ connections, doctor, terminals, instances, ways, logFollowers, files }),
    rawRoutes: [downloadRoute(files), logDownloadRoute(logFollowers)],
    ssh,
    directPortsLeft: async q => (direct ? direct.ports.left(q) : 'none'),
    pace: turns.pace,
    start: async () => {
      await own.start()
      const stops = await Promise.all([
        connections.start(),
        logFollowers.watch(),
        files.watch(),
        ssh?.watch(),
      ])
      uses.start()
      return async () => {
        for (const stop of stops) stop?.()
        await own.stop()
        await uses.stop()
      }
    },
    leave: async () => {
      terminals.shutdown()
      logFollowers.shutdown()
      ways.leave()
      // An address is at one gateway alone, and another one waits for it.
      own.shutdown()
      await Promise.all([own.stop(), ssh?.leave(), direct?.ports.leave()])
    },
    shutdown: async () => {
      files.shutdown()
      direct?.ports.shutdown()
      await ssh?.shutdown()
    },
  }
}
