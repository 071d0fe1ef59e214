import {
  CONNECTION_FINDINGS,
  type ConnectionDiagnosis,
  type ConnectionFinding,
  type ConnectionFindingCode,
} from '@berth/contract/connection-doctor'
import type { InstanceStatus } from '@berth/contract/instance-states'
import type { Connection } from '@berth/contract/instances'
import type { Logger } from 'pino'
import {
  GUEST_SSH,
  type GuestAccess,
  GuestFault,
  type GuestFaultCode,
} from '../../../drivers/compute/port/guest-access.ts'
import { openGuest } from '../../../drivers/compute/port/guest-client.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { Instances, Target } from '../../instances/instances.ts'
import type { SshKeys } from '../../ssh-keys/ssh-keys.ts'
import type { MachineWays } from '../machine-ways.ts'
import type { SshAttempts } from '../ssh/attempts.ts'
import { letsKeyIn } from '../ssh/gateway-side.ts'
import { SSH_LIMITS } from '../ssh/ssh-limits.ts'
import { lineOf } from '../ssh/started-program.ts'
import { codeOf, type PortOutcome, tryHttp, tryTcp } from './check-port.ts'
import { DOCTOR_LIMITS as limits } from './doctor-limits.ts'
import { LISTENERS_SCRIPT, type Listener, readListeners } from './listeners.ts'

/** Says what keeps a customer out of an instance (B8). */
export interface Doctor {
  /**
   * Tries each way into an instance. Whoever asks while that is under way gets the same answer.
   * @throws ApiError `not_found`.
   */
  diagnose(target: Target): Promise<ConnectionDiagnosis>
}

export interface DoctorDeps {
  clock: Clock
  log: Pick<Logger, 'warn'>
  instances: Pick<Instances, 'findOwnEver'>
  ways: Pick<MachineWays, 'connect' | 'run'>
  /**
   * Where a TCP port of an instance is reached and how many came so far, as far as this gateway listens there; null where
   * it does not, and `not_offered` where customers do not reach such ports.
   */
  seenTcp(
    instanceId: string,
    port: number,
  ): { host: string; publicPort: number; connections: number } | null | 'not_offered'
  /** The direct ports of a running instance at its own address; null where it has none. */
  ownWays(row: Row): Promise<{ tcp: OwnWay[]; udp: OwnWay[] } | null>
  /** Null where no SSH is offered. */
  ssh: {
    keys: Pick<SshKeys, 'list'>
    attempts: Pick<SshAttempts, 'last'>
    /** How the SSH server of a virtual machine is signed in to. */
    guestAccess(instanceId: string): GuestAccess
  } | null
}

type Row = Awaited<ReturnType<DoctorDeps['instances']['findOwnEver']>>
type OwnWay = Connection['tcp'][number]
type Values = ConnectionFinding['values']

/** What looking into a machine came to; null where nobody may. */
interface Inside {
  code: ConnectionFindingCode | null
  listeners: Listener[] | null
}

/** Of an instance that does not run nothing else can be tried. */
const STATUS_FINDING: Record<Exclude<InstanceStatus, 'running'>, ConnectionFindingCode> = {
  restarting: 'instance_starting',
  creating: 'instance_starting',
  pulling: 'instance_starting',
  stopped: 'instance_stopped',
  exited: 'instance_stopped',
  stopping: 'instance_stopping',
  imageBuilding: 'instance_stopping',
  error: 'instance_failed',
  unknown: 'engine_unreached',
  deleting: 'instance_terminated',
}
/** What a virtual machine's own SSH server is at fault with. */
const GUEST_FINDING: Record<GuestFaultCode, ConnectionFindingCode> = {
  guest_host_key: 'guest_host_key',
  guest_key_refused: 'guest_key_refused',
  guest_unsure: 'guest_unsure',
  guest_full: 'machine_full',
  no_subsystem: 'guest_unsure',
}
const TROUBLE_FINDING: Record<NonNullable<OwnWay['trouble']>, ConnectionFindingCode> = {
  taken: 'address_port_taken',
  not_permitted: 'address_port_denied',
  no_gateway: 'address_away',
}
/** What shells say of a command that is not there, or cannot be run. */
const NO_PROGRAM_CODES: readonly number[] = [126, 127]
const SERVER_ERROR = 500
/** Programs take ports from here on for themselves, without anybody who is to reach them. */
const EPHEMERAL_PORT_MIN = 32_768

/** Makes the doctor. */
export function createDoctor(deps: DoctorDeps): Doctor {
  const { clock, log, ways } = deps
  const underWay = new Map<string, Promise<ConnectionFinding[]>>()

  async function examine(row: Row): Promise<ConnectionFinding[]> {
    if (row.terminatedAt) return [finding('instance_terminated')]
    if (row.status !== 'running') {
      return [finding(STATUS_FINDING[row.status]), ...(await keyFindings(row))]
    }
    const ports = [
      ...row.httpPorts.map(port => ({ port, trying: tryHttp(ways, row.id, port, limits) })),
      ...row.tcpPorts.map(port => ({ port, trying: tryTcp(ways, row.id, port, limits) })),
    ]
    const [inside, keys, troubled, tried] = await Promise.all([
      lookInside(row),
      keyFindings(row),
      troubleFindings(row),
      Promise.all(ports.map(async ({ port, trying }) => ({ port, outcome: await trying }))),
    ])
    const listeners = inside.listeners ?? []
    const found = [
      ...commandFindings(row),
      ...keys,
      ...(inside.code ? [finding(inside.code)] : []),
      ...tried.flatMap(one => portFindings(row, one, listeners)).filter(one => !isOpenAnd(troubled, one)),
      ...row.udpPorts.map(port => udpFinding(port, inside.listeners)),
      ...troubled,
      ...undeclared(row, listeners),
    ]
    return gathered(found)
  }

  /** What a shell in the machine tells, or why there is none. */
  async function lookInside({ id, kind }: Row): Promise<Inside> {
    const read = kind === 'VM' ? lookIntoGuest : lookIntoPod
    const leaving = new AbortController()
    const timer = setTimeout(() => leaving.abort(), limits.shellMs)
    const late = new Promise<null>(resolve => {
      leaving.signal.addEventListener('abort', () => resolve(null), { once: true })
    })
    try {
      return (
        (await Promise.race([read(id, leaving.signal), late])) ?? { code: 'shell_unsure', listeners: null }
      )
    } catch (error) {
      return { code: shellFinding(error, kind), listeners: null }
    } finally {
      clearTimeout(timer)
    }
  }

  async function lookIntoPod(id: string, signal: AbortSignal): Promise<Inside> {
    const stream = await ways.run(id, { command: LISTENERS_SCRIPT, isProbe: true })
    return { code: 'shell_works', listeners: await readListeners(lineOf(stream), limits, signal) }
  }

  /** By the machine's own SSH server, as customers come in: nothing else runs anything there. */
  async function lookIntoGuest(id: string, signal: AbortSignal): Promise<Inside> {
    if (!deps.ssh) return { code: null, listeners: null }
    const stream = await ways.connect(id, GUEST_SSH.port, { isProbe: true })
    const leave = () => void stream.destroy()
    signal.addEventListener('abort', leave, { once: true })
    if (signal.aborted) leave()
    const guest = await openGuest(stream, deps.ssh.guestAccess(id), SSH_LIMITS)
    try {
      const program = await guest.start({ what: { command: LISTENERS_SCRIPT }, env: {}, pty: null })
      return { code: 'shell_works', listeners: await readListeners(program, limits, signal) }
    } finally {
      guest.close()
    }
  }

  function shellFinding(error: unknown, kind: Row['kind']): ConnectionFindingCode {
    if (error instanceof GuestFault) return GUEST_FINDING[error.code]
    const code = codeOf(error)
    if (code === 'port_closed' && kind === 'VM') return 'guest_closed'
    switch (code) {
      case 'no_shell':
        return 'shell_missing'
      case 'outdated':
        return 'machine_outdated'
      case 'exhausted':
        return 'machine_full'
      case 'engine_unavailable':
        return 'engine_unreached'
      case 'not_running':
      case 'not_found':
        return 'instance_stopped'
      default:
        log.warn({ err: error }, 'a machine could not be asked what listens in it')
        return 'shell_unsure'
    }
  }

  async function keyFindings({ userId, id, sshKeyIds }: Row): Promise<ConnectionFinding[]> {
    if (!deps.ssh) return [finding('ssh_not_offered')]
    const [stored, last] = await Promise.all([deps.ssh.keys.list(userId), deps.ssh.attempts.last(id)])
    if (stored.length === 0) return [finding('key_none')]
    const keys = stored.filter(key => letsKeyIn({ sshKeyIds }, key.id))
    if (keys.length === 0) return [finding('key_none_chosen')]
    if (!last) return [finding('nobody_asked')]
    const { at, address, outcome, key } = last
    // What was refused then may be stored, and chosen, by now.
    const isRefused = outcome === 'key_unknown' || outcome === 'key_not_chosen'
    if (isRefused && keys.some(({ fingerprint }) => fingerprint === key?.fingerprint)) {
      return [finding('nobody_asked')]
    }
    return [finding(outcome, { values: { at: at.toISOString(), address, ...key } })]
  }

  function portFindings(
    row: Row,
    { port, outcome }: { port: number; outcome: PortOutcome },
    listeners: readonly Listener[],
  ): ConnectionFinding[] {
    const one = (code: ConnectionFindingCode, values?: Values) => [
      finding(code, { port, ...(values && { values }) }),
    ]
    switch (outcome.is) {
      case 'answers': {
        const { status } = outcome
        return one(status >= SERVER_ERROR ? 'http_error' : 'http_answers', { status })
      }
      case 'foreign':
        return one('http_foreign')
      case 'slow':
        return one(row.httpPorts.includes(port) ? 'http_slow' : 'port_unsure')
      case 'open':
        return tcpFindings(row.id, port)
      case 'refused': {
        const code = codeOf(outcome.error)
        if (code === 'exhausted') return one('machine_full')
        if (code === 'engine_unavailable') return one('engine_unreached')
        if (code === 'not_running' || code === 'not_found') return one('instance_stopped')
        if (code !== 'port_closed') return one('port_unsure')
        const addresses = listeners
          .filter(other => other.protocol === 'tcp' && other.port === port)
          .map(({ address }) => address)
        if (addresses.length === 0) return one('port_silent')
        return one('port_elsewhere', { addresses: addresses.slice(0, limits.addressesMax).join(', ') })
      }
    }
  }

  /** Of a TCP port on which a program listens: what lies between it and the customer. */
  function tcpFindings(instanceId: string, port: number): ConnectionFinding[] {
    const seen = deps.seenTcp(instanceId, port)
    if (seen === 'not_offered') return [finding('tcp_not_offered', { port })]
    if (!seen || seen.connections > 0) return [finding('tcp_listens', { port })]
    const values = { host: seen.host, public_port: seen.publicPort }
    return [finding('tcp_untried', { port, values })]
  }

  /** What keeps ports closed at the address that an instance has for itself. */
  async function troubleFindings(row: Row): Promise<ConnectionFinding[]> {
    const ways = await deps.ownWays(row)
    return (['tcp', 'udp'] as const).flatMap(protocol =>
      (ways?.[protocol] ?? []).flatMap(({ trouble, host, port }) =>
        trouble === null ? [] : [finding(TROUBLE_FINDING[trouble], { port, values: { host, protocol } })],
      ),
    )
  }

  /** Whether anybody listens for datagrams: nothing is sent, since a program may take whatever comes for a customer's. */
  function udpFinding(port: number, listeners: readonly Listener[] | null): ConnectionFinding {
    if (!listeners) return finding('udp_unsure', { port })
    const isHeard = listeners.some(one => one.protocol === 'udp' && one.port === port)
    return finding(isHeard ? 'udp_listens' : 'udp_silent', { port })
  }

  function undeclared(row: Row, listeners: readonly Listener[]): ConnectionFinding[] {
    const declared = [...row.httpPorts, ...row.tcpPorts]
    const tcp = listeners.filter(({ protocol }) => protocol === 'tcp')
    const found = new Set(tcp.map(({ port }) => port))
    const ports = [...found]
      .filter(port => !declared.includes(port) && port < EPHEMERAL_PORT_MIN)
      .sort((a, b) => a - b)
      .slice(0, limits.undeclaredMax)
    return ports.length === 0 ? [] : [finding('port_undeclared', { values: { ports: ports.join(', ') } })]
  }

  return {
    async diagnose(target) {
      const row = await deps.instances.findOwnEver(target)
      const examining = underWay.get(row.id) ?? examine(row).finally(() => underWay.delete(row.id))
      underWay.set(row.id, examining)
      const findings = await examining
      return { instance_id: row.id, checked_at: clock.now().toISOString(), findings }
    },
  }
}

/** That a program listens is not all where nobody gets to it. */
function isOpenAnd(troubled: readonly ConnectionFinding[], { code, port }: ConnectionFinding): boolean {
  if (code !== 'tcp_listens' && code !== 'tcp_untried') return false
  return troubled.some(one => one.port === port && one.values.protocol === 'tcp')
}

function commandFindings({ commandEnd }: Row): ConnectionFinding[] {
  if (!commandEnd) return []
  const { exit_code, ended_at } = commandEnd
  const code =
    exit_code === 0
      ? 'command_ended'
      : NO_PROGRAM_CODES.includes(exit_code)
        ? 'program_missing'
        : 'command_failed'
  return [finding(code, { values: { exit_code, at: ended_at } })]
}

function finding(
  code: ConnectionFindingCode,
  { port = null, values = {} }: { port?: number | null; values?: Values } = {},
): ConnectionFinding {
  return { code, ...CONNECTION_FINDINGS[code], port, values }
}

/** What concerns the whole instance is said once and first. */
function gathered(found: readonly ConnectionFinding[]): ConnectionFinding[] {
  const whole = new Map<string, ConnectionFinding>()
  for (const one of found) if (one.of === 'instance') whole.set(one.code, { ...one, port: null })
  return [...whole.values(), ...found.filter(one => one.of !== 'instance')]
}
