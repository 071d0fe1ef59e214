import { isDeepStrictEqual } from 'node:util'
import type { Connection } from '@berth/contract/instances'
import type { Logger } from 'pino'
import { ComputeError } from '../../drivers/compute/port/compute-error.ts'
import type { OpenDatabase } from '../../platform/database/open-database.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import { INSTANCE_CHANNEL, type Instances, type Target } from '../instances/instances.ts'
import { PUBLIC_IP_CHANNEL } from '../public-ips/public-ips.ts'
import { inTime } from './in-time.ts'
import type { MachineWays } from './machine-ways.ts'
import { carriesDatagrams } from './ports/carries-datagrams.ts'
import type { DirectPorts } from './ports/direct-ports.ts'
import type { OwnAddresses } from './ports/own-addresses.ts'
import { isRunning, type RunningInstance, runningOf } from './running.ts'
import type { SshBeside } from './ssh/process/ssh-beside.ts'
import type { Terminals } from './terminal/terminals.ts'

/** How a customer reaches an instance (R2.23). */
export interface Connections {
  /**
   * The ways to a running instance. Direct ports are given by this call, and kept.
   * @param origin Scheme, host and port under which the customer sees the gateway.
   * @throws ApiError `not_found` or `instance_not_running`.
   */
  find(target: { userId: string; instanceId: string }, origin: string): Promise<Connection>
  /** Begins to close what belongs to instances that stop, here or on another replica. @returns The way to stop. */
  start(): Promise<() => void>
}

export interface ConnectionsDeps {
  log: Pick<Logger, 'warn'>
  listen: OpenDatabase['listen']
  serviceHost: string
  ways: Pick<MachineWays, 'connect' | 'udp' | 'guest'>
  instances: Pick<Instances, 'findRunning'>
  terminals: Pick<Terminals, 'sessions' | 'checkInstance' | 'checkSessions' | 'instances'>
  identity: { watchSessions(onChange: () => void): Promise<() => void> }
  /** Null where customers do not reach this computer's own ports. `host` is where they do. */
  direct: { ports: DirectPorts; host: string } | null
  own: Pick<OwnAddresses, 'waysTo' | 'has' | 'lookAt' | 'lookAtAll' | 'wake'>
  /** Null where no SSH is offered. */
  ssh: Pick<SshBeside, 'address' | 'hostKeys'> | null
  /** Where customers reach it, where that is elsewhere than the console's host and the port that is listened on. */
  sshPlace: { host: string; port: number } | null
}

/** Makes the connections. */
export function createConnections(deps: ConnectionsDeps): Connections {
  const { log, instances, terminals, direct, own } = deps

  async function closeUnlessRunning(instanceId: string): Promise<void> {
    await terminals.checkInstance(instanceId)
    const target = targetsOf(direct).find(one => one.instanceId === instanceId)
    if (!target) return
    // With an address of its own it has no ports here.
    const isHere = (await isRunning(instances, target)) && !(await own.has(instanceId))
    if (!isHere) direct?.ports.closeInstance(instanceId)
    // It may have been started again before they were closed, and may have other ports than it had.
    direct?.ports.look(instanceId)
  }

  /** The UDP ports of an instance, where its engine carries datagrams. */
  async function openUdp({ id, udpPorts }: RunningInstance, userId: string) {
    const [first] = udpPorts
    if (!direct || first === undefined || !(await carriesDatagrams(deps.ways, id, first))) return undefined
    return direct.ports.open({ userId, instanceId: id }, 'udp', udpPorts)
  }

  /** The direct ports of an instance, at its own address or at the shared one. */
  async function openPorts(row: RunningInstance, userId: string): Promise<Pick<Connection, 'tcp' | 'udp'>> {
    const ways = await own.waysTo(row)
    if (ways) return ways
    const [tcp, udp] = await Promise.all([
      direct?.ports.open({ userId, instanceId: row.id }, 'tcp', row.tcpPorts),
      openUdp(row, userId),
    ])
    return { tcp: directWays(direct, tcp), udp: directWays(direct, udp) }
  }

  const held = () =>
    new Set([...terminals.instances(), ...targetsOf(direct).map(({ instanceId }) => instanceId)])
  const warn = (error: unknown) => log.warn({ err: error }, 'what belongs to a stopped instance may be open')
  const onInstance = (instanceId: string) => {
    own.lookAt(instanceId)
    if (held().has(instanceId)) closeUnlessRunning(instanceId).catch(warn)
    else direct?.ports.look(instanceId)
  }
  const onReconnected = () => {
    for (const instanceId of held()) onInstance(instanceId)
    direct?.ports.lookAtAll().catch(warn)
    own.lookAtAll()
  }

  return {
    async find({ userId, instanceId }, origin) {
      const row = await instances.findRunning(userId, instanceId)
      const [listening, ports, shells, guest] = await Promise.all([
        Promise.all(row.httpPorts.map(port => probe(deps.ways, instanceId, port))),
        openPorts(row, userId),
        terminals.sessions(instanceId),
        row.kind === 'VM' ? inTime(deps.ways.guest(instanceId).catch(() => null)) : null,
      ])
      // A stop that came before the ports were open had nothing to close.
      const hasDirect = row.tcpPorts.length + row.udpPorts.length > 0
      const now = direct && hasDirect ? await runningOf(instances, { userId, instanceId }) : row
      if (!now) {
        direct?.ports.closeInstance(instanceId)
        throw new ApiError('instance_not_running')
      }
      // Nor had an edit that took some of them away.
      if (!isDeepStrictEqual(now, row)) direct?.ports.look(instanceId)
      return {
        instance_id: instanceId,
        http: row.httpPorts.map((port, at) => ({
          port,
          url: serviceUrl(origin, `${row.serviceSecret}-${port}.${deps.serviceHost}`),
          listening: listening[at] ?? null,
        })),
        ssh: sshWay(deps, row, origin),
        ...ports,
        terminal: { running: shells.length > 0 },
        guest,
      }
    },
    async start() {
      const stops = await Promise.all([
        deps.listen(INSTANCE_CHANNEL, onInstance, onReconnected),
        deps.listen(PUBLIC_IP_CHANNEL, own.wake, own.wake),
        deps.identity.watchSessions(() => void terminals.checkSessions().catch(warn)),
      ])
      direct?.ports.lookAtAll().catch(warn)
      return () => {
        for (const stop of stops) stop()
      }
    },
  }
}

/** The way by SSH; null where it is not offered, or where its port could not be had. */
function sshWay(
  { ssh, sshPlace }: ConnectionsDeps,
  { id, kind }: RunningInstance,
  origin: string,
): Connection['ssh'] {
  const address = ssh?.address()
  const place = sshPlace ?? (address ? { host: bareHost(origin), port: address.port } : null)
  if (!ssh || !place) return null
  const fingerprints = ssh.hostKeys.map(({ type, fingerprint }) => ({ type, fingerprint }))
  return { ...place, user: id, fingerprints, own_server: kind === 'VM' }
}

/** Without the brackets that an IPv6 address has in an address of the web. */
function bareHost(origin: string): string {
  return new URL(origin).hostname.replace(/^\[|\]$/g, '')
}

function targetsOf(direct: ConnectionsDeps['direct']): Target[] {
  return direct ? direct.ports.targets() : []
}

function directWays(
  direct: ConnectionsDeps['direct'],
  ports: ReadonlyMap<number, number> = new Map(),
): Connection['tcp'] {
  return [...ports].map(([port, public_port]) => ({
    port,
    host: direct?.host ?? '',
    public_port,
    trouble: null,
  }))
}

/** The address of a service, with the scheme and the port that the customer came by. */
function serviceUrl(origin: string, host: string): string {
  const url = new URL(origin)
  return `${url.protocol}//${host}${url.port ? `:${url.port}` : ''}`
}

/** Whether anything listens on a port; null when that could not be found out in time. */
async function probe(
  ways: Pick<MachineWays, 'connect'>,
  instanceId: string,
  port: number,
): Promise<boolean | null> {
  const answer = ways.connect(instanceId, port, { isProbe: true }).then(
    stream => {
      stream.on('error', () => undefined).destroy()
      return true
    },
    error => (error instanceof ComputeError && error.code === 'port_closed' ? false : null),
  )
  return inTime(answer)
}
