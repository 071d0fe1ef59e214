import type { Connection } from '@berth/contract/instances'
import type { Logger } from 'pino'
import { ComputeError } from '../../drivers/compute/port/compute-error.ts'
import type { OpenDatabase } from '../../platform/database/open-database.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import { INSTANCE_CHANNEL, type Instances, type Target } from '../instances/instances.ts'
import type { MachineWays } from './machine-ways.ts'
import type { DirectPorts } from './ports/direct-ports.ts'
import { isRunning, type RunningInstance } from './running.ts'
import type { SshServer } from './ssh/ssh-server.ts'
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
  terminals: Pick<Terminals, 'running' | 'checkInstance' | 'checkSessions' | 'instances'>
  identity: { watchSessions(onChange: () => void): Promise<() => void> }
  /** Null where customers do not reach this computer's own ports. `host` is where they do. */
  direct: { ports: DirectPorts; host: string } | null
  /** Null where no SSH is offered. */
  ssh: Pick<SshServer, 'address' | 'hostKeys'> | null
  /** Where customers reach it, where that is elsewhere than the console's host and the port that is listened on. */
  sshPlace: { host: string; port: number } | null
}

/** How long a port may take to say whether anything listens on it, and a guest what it is. */
const PROBE_MS = 1_000

/** Makes the connections. */
export function createConnections(deps: ConnectionsDeps): Connections {
  const { log, instances, terminals, direct } = deps

  async function closeUnlessRunning(instanceId: string): Promise<void> {
    await terminals.checkInstance(instanceId)
    const target = targetsOf(direct).find(one => one.instanceId === instanceId)
    if (!target || (await isRunning(instances, target))) return
    direct?.ports.closeInstance(instanceId)
    // It may have been started again before they were closed.
    direct?.ports.look(instanceId)
  }

  /** The UDP ports of an instance, where its engine carries datagrams. */
  async function openUdp({ id, udpPorts }: RunningInstance, userId: string) {
    const [first] = udpPorts
    if (!direct || first === undefined || !(await carriesDatagrams(deps.ways, id, first))) return undefined
    return direct.ports.open({ userId, instanceId: id }, 'udp', udpPorts)
  }

  const held = () =>
    new Set([...terminals.instances(), ...targetsOf(direct).map(({ instanceId }) => instanceId)])
  const warn = (error: unknown) => log.warn({ err: error }, 'what belongs to a stopped instance may be open')
  const onInstance = (instanceId: string) => {
    if (held().has(instanceId)) closeUnlessRunning(instanceId).catch(warn)
    else direct?.ports.look(instanceId)
  }
  const onReconnected = () => {
    for (const instanceId of held()) onInstance(instanceId)
    direct?.ports.lookAtAll().catch(warn)
  }

  return {
    async find({ userId, instanceId }, origin) {
      const row = await instances.findRunning(userId, instanceId)
      const [listening, tcpPorts, udpPorts, hasShell, guest] = await Promise.all([
        Promise.all(row.httpPorts.map(port => probe(deps.ways, instanceId, port))),
        direct?.ports.open({ userId, instanceId }, 'tcp', row.tcpPorts),
        openUdp(row, userId),
        terminals.running(instanceId),
        row.kind === 'VM' ? inTime(deps.ways.guest(instanceId).catch(() => null)) : null,
      ])
      // A stop that came before the ports were open had nothing to close.
      const hasDirect = row.tcpPorts.length + row.udpPorts.length > 0
      if (direct && hasDirect && !(await isRunning(instances, { userId, instanceId }))) {
        direct.ports.closeInstance(instanceId)
        throw new ApiError('instance_not_running')
      }
      return {
        instance_id: instanceId,
        http: row.httpPorts.map((port, at) => ({
          port,
          url: serviceUrl(origin, `${row.serviceSecret}-${port}.${deps.serviceHost}`),
          listening: listening[at] ?? null,
        })),
        ssh: sshWay(deps, instanceId, origin),
        tcp: directWays(direct, tcpPorts),
        udp: directWays(direct, udpPorts),
        terminal: { running: hasShell },
        guest,
      }
    },
    async start() {
      const stops = await Promise.all([
        deps.listen(INSTANCE_CHANNEL, onInstance, onReconnected),
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
function sshWay({ ssh, sshPlace }: ConnectionsDeps, user: string, origin: string): Connection['ssh'] {
  const address = ssh?.address()
  const place = sshPlace ?? (address ? { host: bareHost(origin), port: address.port } : null)
  if (!ssh || !place) return null
  const fingerprints = ssh.hostKeys.map(({ type, fingerprint }) => ({ type, fingerprint }))
  return { ...place, user, fingerprints }
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
  return [...ports].map(([port, public_port]) => ({ port, host: direct?.host ?? '', public_port }))
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

/** Whether a way for datagrams leads into a machine; also where it cannot be found out at the moment. */
async function carriesDatagrams(ways: Pick<MachineWays, 'udp'>, instanceId: string, port: number) {
  const opened = ways.udp(instanceId, port, { isProbe: true }).then(
    line => {
      line.on('error', () => undefined).destroy()
      return true
    },
    error => !(error instanceof ComputeError && error.code === 'unsupported'),
  )
  return (await inTime(opened)) ?? true
}

/** What a machine answers; null when it does not in time. */
async function inTime<T>(answer: Promise<T>): Promise<T | null> {
  let timer: NodeJS.Timeout | null = null
  const late = new Promise<null>(resolve => {
    timer = setTimeout(resolve, PROBE_MS, null)
  })
  const found = await Promise.race([answer, late])
  if (timer) clearTimeout(timer)
  return found
}
