import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { TERMINAL_SERIAL } from '@berth/contract/instances'
import { TERMINAL_SESSIONS_MAX, TERMINAL_TICKET_MS } from '@berth/contract/limits'
import {
  TERMINAL_INPUT_BYTES_MAX,
  TERMINAL_PATH,
  TERMINAL_SUBPROTOCOL,
  TERMINAL_TICKET_PREFIX,
} from '@berth/contract/terminal'
import type { Logger } from 'pino'
import { WebSocketServer } from 'ws'
import { ComputeError } from '../../../drivers/compute/port/compute-error.ts'
import { SERIAL_SESSION } from '../../../drivers/compute/port/serial-session.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { refuseUpgrade, type Upgrade } from '../../../platform/http/upgrades.ts'
import type { Instances } from '../../instances/instances.ts'
import type { MachineWays } from '../machine-ways.ts'
import { isRunning } from '../running.ts'
import type { TicketSubject, Tickets } from '../tickets.ts'
import { sessionName, sessionOf, sessionsAmong } from './session-names.ts'
import { joinTab, type Tab } from './tab.ts'
import { TERMINAL_LIMITS, type TerminalLimits } from './terminal-limits.ts'
import { createTerminalSocket, type TerminalSocket } from './terminal-socket.ts'

/** The web terminals of one gateway. */
export interface Terminals {
  /**
   * A single-use ticket for one socket to one shell.
   * @param session Number of the shell, from 1 to TERMINAL_SESSIONS_MAX, or TERMINAL_SERIAL.
   * @throws ApiError `not_found`, `instance_not_running`, or `validation_failed` for the serial console of a pod.
   */
  issueTicket(subject: TicketSubject, session: number): Promise<IssuedTicket>
  /**
   * Ends a shell on a customer's instance, whichever gateway opened it; none of that number: nothing.
   * @param session Null ends all of them, and puts everybody off the serial console.
   * @throws ApiError `unavailable` while the machine cannot be reached.
   */
  stop(instanceId: string, session: number | null): Promise<void>
  /** Numbers of the shells that an instance has, as far as can be found out in a moment; the lowest first. */
  sessions(instanceId: string): Promise<number[]>
  /** Instances that are looked at through this gateway. */
  instances(): string[]
  /** What answers the socket. The platform has checked its Origin before. */
  upgrade: Upgrade
  /** Ends the tabs of an instance that no longer runs. */
  checkInstance(instanceId: string): Promise<void>
  /** Closes the sockets of sessions that are no longer open; the shells stay. */
  checkSessions(): Promise<void>
  /** What the terminals take: for metrics and tests. */
  gauge(): { sockets: number; bytesHeld: number }
  /** Ends every tab; the shells stay with their machines. */
  shutdown(): void
}

export interface IssuedTicket {
  ticket: string
  /** Where the socket is, on the console's origin. */
  path: string
  expiresAt: Date
  /** As `Terminals.sessions` says. */
  sessions: number[]
  sessionsMax: number
  hasSerial: boolean
}

export interface TerminalsDeps {
  tickets: Tickets
  log: Logger
  ways: Pick<MachineWays, 'attach' | 'sessions' | 'closeSession'>
  instances: Pick<Instances, 'findRunning'>
  identity: { isSessionOpen(sessionId: string): Promise<boolean> }
  limits?: Partial<TerminalLimits>
}

/** What a socket is for: what its ticket says, and the shell. */
type Opens = TicketSubject & { session: number }

interface Size {
  cols: number
  rows: number
}

/** Says in the socket's address which shell is meant. */
const SESSION_PARAMETER = 'session'

/** How long whoever asks for a way into an instance waits to hear which shells it has. */
const SESSIONS_MS = 1_000

/** Makes the terminals. From here until `shutdown` a timer looks after the sockets. */
export function createTerminals(deps: TerminalsDeps): Terminals {
  const { ways, instances, log, tickets } = deps
  const limits = { ...TERMINAL_LIMITS, ...deps.limits }
  const tabs = new Set<Tab>()
  /** Open sockets that have not said their size, so that they look at no shell yet. */
  const waiting = new Set<TerminalSocket>()
  const handshake = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    // A terminal's frames are small or come in floods: compressing them costs more time than it saves.
    perMessageDeflate: false,
    maxPayload: TERMINAL_INPUT_BYTES_MAX + 1,
    handleProtocols: () => TERMINAL_SUBPROTOCOL,
  })

  const stillRuns = ({ userId, instanceId }: Pick<Tab, 'userId' | 'instanceId'>) =>
    isRunning(instances, { userId, instanceId })

  function join(socket: TerminalSocket, { userId, instanceId, session }: Opens, size: Size): void {
    const full =
      ofInstance(tabs, instanceId).length >= limits.tabsPerInstanceMax
        ? 'too_many_sockets'
        : tabs.size >= limits.tabsMax && 'too_many_shells'
    if (full) {
      socket.end(full)
      return
    }
    const tab = joinTab({
      userId,
      instanceId,
      session,
      socket,
      size,
      attach: () => ways.attach(instanceId, sessionName(session), size),
      stillRuns: () => stillRuns({ userId, instanceId }),
      limits,
      log,
      onEnd: () => tabs.delete(tab),
    })
    tabs.add(tab)
  }

  function welcome(socket: TerminalSocket, subject: Opens): void {
    waiting.add(socket)
    socket.listen({
      onResize: (cols, rows) => {
        waiting.delete(socket)
        join(socket, subject, { cols, rows })
      },
      // Nothing is said before the size.
      onInput: () => socket.end('bad_frame'),
      onAck: () => undefined,
      onSent: () => undefined,
      onClose: () => waiting.delete(socket),
    })
    // A session that ended just before the socket was known here was looked for in vain.
    checkSession(subject.sessionId, [socket]).catch(error => {
      log.warn({ err: error }, 'the session of a terminal could not be checked')
    })
  }

  async function accept(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const subject = await redeem(request)
    // A ticket is worth no more than the session that asked for it, which may have ended since.
    if (!subject || !(await deps.identity.isSessionOpen(subject.sessionId))) {
      return refuseUpgrade(socket, '401 Unauthorized')
    }
    const runs = await stillRuns(subject)
    handshake.handleUpgrade(request, socket, head, webSocket => {
      const { sessionId } = subject
      const terminalSocket = createTerminalSocket({ socket: webSocket, sessionId, limits })
      if (runs) welcome(terminalSocket, subject)
      else terminalSocket.end('instance_stopped')
    })
  }

  async function redeem(request: IncomingMessage): Promise<Opens | null> {
    const session = sessionOf(new URL(request.url ?? '', 'http://socket').searchParams.get(SESSION_PARAMETER))
    if (session === null) return null
    const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map(name => name.trim())
    const ticket = offered.find(name => name.startsWith(TERMINAL_TICKET_PREFIX))
    if (!ticket || !offered.includes(TERMINAL_SUBPROTOCOL)) return null
    const subject = await tickets.redeem(ticket.slice(TERMINAL_TICKET_PREFIX.length), opensOf(session))
    return subject && { ...subject, session }
  }

  async function findSessions(instanceId: string): Promise<number[]> {
    const found = await within(SESSIONS_MS, ways.sessions(instanceId))
    const here = ofInstance(tabs, instanceId).map(({ session }) => sessionName(session))
    return sessionsAmong([...here, ...(found ?? [])])
  }

  async function checkSessions(): Promise<void> {
    const bySession = Map.groupBy([...allSockets(tabs), ...waiting], socket => socket.sessionId)
    for (const [sessionId, sockets] of bySession) await checkSession(sessionId, sockets)
  }

  async function checkSession(sessionId: string, sockets: readonly TerminalSocket[]): Promise<void> {
    if (await deps.identity.isSessionOpen(sessionId)) return
    for (const socket of sockets) socket.end('signed_out')
  }

  const care = setInterval(() => {
    for (const socket of allSockets(tabs)) socket.checkLife()
    checkSessions().catch(error => log.warn({ err: error }, 'sessions of terminals could not be checked'))
  }, limits.pingMs).unref()

  return {
    async issueTicket(subject, session) {
      const { instanceId } = subject
      const { kind } = await instances.findRunning(subject.userId, instanceId)
      const hasSerial = kind === 'VM'
      if (session === TERMINAL_SERIAL && !hasSerial) {
        throw new ApiError('validation_failed', { fields: [{ path: 'session', rule: 'vm_only' }] })
      }
      const [issued, sessions] = await Promise.all([
        tickets.issue(subject, opensOf(session), TERMINAL_TICKET_MS),
        findSessions(instanceId),
      ])
      return { ...issued, path: pathOf(session), sessions, sessionsMax: TERMINAL_SESSIONS_MAX, hasSerial }
    },
    stop: async (instanceId, session) => {
      try {
        const mine = (name: string) => name === SERIAL_SESSION || sessionsAmong([name]).length > 0
        const ended =
          session === null ? (await ways.sessions(instanceId)).filter(mine) : [sessionName(session)]
        await Promise.all(ended.map(name => ways.closeSession(instanceId, name)))
      } catch (error) {
        // Where no machine runs, no shell does.
        if (error instanceof ComputeError && ['not_running', 'not_found'].includes(error.code)) return
        throw error instanceof ComputeError ? new ApiError('unavailable', { cause: error }) : error
      }
    },
    sessions: findSessions,
    instances: () => [...new Set([...tabs].map(tab => tab.instanceId))],
    upgrade: {
      path: TERMINAL_PATH,
      handle: (request, socket, head) => {
        // Until the handshake nobody else listens, and a reset must not end the process.
        socket.on('error', () => socket.destroy())
        accept(request, socket, head).catch(error => {
          log.warn({ err: error }, 'a terminal socket could not be opened')
          refuseUpgrade(socket, '503 Service Unavailable')
        })
      },
    },
    checkInstance: async instanceId => {
      for (const tab of ofInstance(tabs, instanceId)) {
        if (!(await stillRuns(tab))) tab.end('instance_stopped')
      }
    },
    checkSessions,
    gauge: () => ({
      sockets: tabs.size,
      bytesHeld: [...tabs].reduce((sum, tab) => sum + tab.bytesHeld, 0),
    }),
    shutdown: () => {
      clearInterval(care)
      for (const tab of tabs) tab.end('gateway_stopping')
      for (const socket of waiting) socket.end('gateway_stopping')
    },
  }
}

/** What a ticket for a shell opens besides: one for another shell, or for a file, does not open it. */
function opensOf(session: number): string {
  return session === 1 ? '' : sessionName(session)
}

function pathOf(session: number): string {
  return session === 1 ? TERMINAL_PATH : `${TERMINAL_PATH}?${SESSION_PARAMETER}=${session}`
}

function allSockets(tabs: ReadonlySet<Tab>): TerminalSocket[] {
  return [...tabs].map(tab => tab.socket)
}

function ofInstance(tabs: ReadonlySet<Tab>, instanceId: string): Tab[] {
  return [...tabs].filter(tab => tab.instanceId === instanceId)
}

/** What a promise gives, or null when that takes longer or fails. */
async function within<T>(ms: number, promise: Promise<T>): Promise<T | null> {
  let timer: NodeJS.Timeout | null = null
  const late = new Promise<null>(resolve => {
    timer = setTimeout(resolve, ms, null)
  })
  const found = await Promise.race([promise.catch(() => null), late])
  if (timer) clearTimeout(timer)
  return found
}
