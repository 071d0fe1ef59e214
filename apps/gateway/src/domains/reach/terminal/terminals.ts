import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { TERMINAL_TICKET_MS } from '@berth/contract/limits'
import {
  TERMINAL_INPUT_BYTES_MAX,
  TERMINAL_PATH,
  TERMINAL_SUBPROTOCOL,
  TERMINAL_TICKET_PREFIX,
} from '@berth/contract/terminal'
import type { Logger } from 'pino'
import { WebSocketServer } from 'ws'
import { ComputeError } from '../../../drivers/compute/port/compute-error.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { refuseUpgrade, type Upgrade } from '../../../platform/http/upgrades.ts'
import type { Instances } from '../../instances/instances.ts'
import type { MachineWays } from '../machine-ways.ts'
import { isRunning } from '../running.ts'
import type { TicketSubject, Tickets } from '../tickets.ts'
import { joinTab, type Tab } from './tab.ts'
import { TERMINAL_LIMITS, type TerminalLimits } from './terminal-limits.ts'
import { createTerminalSocket, type TerminalSocket } from './terminal-socket.ts'

/** The web terminals of one gateway. */
export interface Terminals {
  /**
   * A single-use ticket for one socket.
   * @throws ApiError `not_found` or `instance_not_running`.
   */
  issueTicket(
    subject: Omit<TicketSubject, 'filePath'>,
  ): Promise<{ ticket: string; path: string; expiresAt: Date }>
  /**
   * Ends the shell on a customer's instance, whichever gateway opened it; none: nothing.
   * @throws ApiError `unavailable` while the machine cannot be reached.
   */
  stop(instanceId: string): Promise<void>
  /** Whether an instance has a shell, as far as can be found out in a moment. */
  running(instanceId: string): Promise<boolean>
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

export interface TerminalsDeps {
  tickets: Tickets
  log: Logger
  ways: Pick<MachineWays, 'attach' | 'sessions' | 'closeSession'>
  instances: Pick<Instances, 'findRunning'>
  identity: { isSessionOpen(sessionId: string): Promise<boolean> }
  limits?: Partial<TerminalLimits>
}

interface Size {
  cols: number
  rows: number
}

/** The shell that the web terminal looks at, among all sessions of a machine. */
const SESSION = 'web'

/** How long whoever asks for the ways into an instance waits to hear whether it has a shell. */
const RUNNING_MS = 1_000

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

  function join(socket: TerminalSocket, { userId, instanceId }: TicketSubject, size: Size): void {
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
      socket,
      size,
      attach: () => ways.attach(instanceId, SESSION, size),
      stillRuns: () => stillRuns({ userId, instanceId }),
      limits,
      log,
      onEnd: () => tabs.delete(tab),
    })
    tabs.add(tab)
  }

  function welcome(socket: TerminalSocket, subject: TicketSubject): void {
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

  async function redeem(request: IncomingMessage): Promise<TicketSubject | null> {
    const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map(name => name.trim())
    const ticket = offered.find(name => name.startsWith(TERMINAL_TICKET_PREFIX))
    if (!ticket || !offered.includes(TERMINAL_SUBPROTOCOL)) return null
    return tickets.redeem(ticket.slice(TERMINAL_TICKET_PREFIX.length), '')
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
    async issueTicket(subject) {
      await instances.findRunning(subject.userId, subject.instanceId)
      return { ...(await tickets.issue(subject, '', TERMINAL_TICKET_MS)), path: TERMINAL_PATH }
    },
    stop: async instanceId => {
      try {
        await ways.closeSession(instanceId, SESSION)
      } catch (error) {
        // Where no machine runs, no shell does.
        if (error instanceof ComputeError && ['not_running', 'not_found'].includes(error.code)) return
        throw error instanceof ComputeError ? new ApiError('unavailable', { cause: error }) : error
      }
    },
    running: async instanceId => {
      if (ofInstance(tabs, instanceId).length > 0) return true
      const found = await within(RUNNING_MS, ways.sessions(instanceId))
      return found?.includes(SESSION) ?? false
    },
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
