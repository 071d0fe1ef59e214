import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import {
  TERMINAL_INPUT_BYTES_MAX,
  TERMINAL_PATH,
  TERMINAL_SUBPROTOCOL,
  TERMINAL_TICKET_PREFIX,
  type TerminalEnd,
} from '@berth/contract/terminal'
import type { Logger } from 'pino'
import { WebSocketServer } from 'ws'
import type { ComputeDriver } from '../../../drivers/compute/port.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { Database } from '../../../platform/database/database.ts'
import { refuseUpgrade, type Upgrade } from '../../../platform/http/upgrades.ts'
import type { Ids } from '../../../platform/ids.ts'
import type { Instances } from '../instances.ts'
import { isRunning } from '../running.ts'
import { createShell, type Shell } from './shell.ts'
import { TERMINAL_LIMITS, type TerminalLimits } from './terminal-limits.ts'
import { createTerminalSocket, type TerminalSocket } from './terminal-socket.ts'
import { createTickets, type TicketSubject } from './tickets.ts'

/** The web terminals of one gateway. */
export interface Terminals {
  /**
   * A single-use ticket for one socket.
   * @throws ApiError `not_found` or `instance_not_running`.
   */
  issueTicket(subject: TicketSubject): Promise<{ ticket: string; path: string; expiresAt: Date }>
  /** Ends the customer's shell on an instance; none: nothing. */
  stop(userId: string, instanceId: string): void
  /** Whether an instance has a shell here. */
  running(instanceId: string): boolean
  /** Instances that have a shell here. */
  instances(): string[]
  /** What answers the socket. The platform has checked its Origin before. */
  upgrade: Upgrade
  /** Ends the shells of an instance. */
  closeInstance(instanceId: string, reason: TerminalEnd): void
  /** Ends the shells of an instance that no longer runs. */
  checkInstance(instanceId: string): Promise<void>
  /** Closes the sockets of sessions that are no longer open; their shells stay. */
  checkSessions(): Promise<void>
  /** What the terminals take: for metrics and tests. */
  gauge(): { shells: number; sockets: number; bytesHeld: number }
  shutdown(): void
}

export interface TerminalsDeps {
  db: Database
  clock: Clock
  ids: Ids
  log: Logger
  compute: Pick<ComputeDriver, 'openPty'> | null
  instances: Pick<Instances, 'findRunning'>
  identity: { isSessionOpen(sessionId: string): Promise<boolean> }
  limits?: Partial<TerminalLimits>
}

/** Makes the terminals. From here until `shutdown` a timer looks after the sockets. */
export function createTerminals(deps: TerminalsDeps): Terminals {
  const { compute, instances, log } = deps
  const limits = { ...TERMINAL_LIMITS, ...deps.limits }
  const tickets = createTickets(deps)
  const shells = new Map<string, Shell>()
  /** Open sockets that have not said their size, so that no shell knows them yet. */
  const waiting = new Set<TerminalSocket>()
  const handshake = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    // A terminal's frames are small or come in floods: compressing them costs more time than it saves.
    perMessageDeflate: false,
    maxPayload: TERMINAL_INPUT_BYTES_MAX + 1,
    handleProtocols: () => TERMINAL_SUBPROTOCOL,
  })

  const stillRuns = ({ userId, instanceId }: Pick<Shell, 'userId' | 'instanceId'>) =>
    isRunning(instances, { userId, instanceId })

  function shellFor({ userId, instanceId }: TicketSubject): Shell | null {
    const key = `${userId}/${instanceId}`
    const known = shells.get(key)
    if (known) return known
    if (!compute || shells.size >= limits.shellsMax) return null
    const shell = createShell({
      userId,
      instanceId,
      openPty: options => compute.openPty(instanceId, options),
      stillRuns: () => stillRuns({ userId, instanceId }),
      limits,
      log,
      onEnd: () => shells.delete(key),
    })
    shells.set(key, shell)
    return shell
  }

  function welcome(socket: TerminalSocket, subject: TicketSubject): void {
    waiting.add(socket)
    socket.listen({
      onResize: (cols, rows) => {
        waiting.delete(socket)
        const shell = shellFor(subject)
        if (shell) shell.attach(socket, { cols, rows })
        else socket.end('too_many_shells')
      },
      // Nothing is said before the size.
      onInput: () => socket.end('bad_frame'),
      onProgress: () => undefined,
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
    return tickets.redeem(ticket.slice(TERMINAL_TICKET_PREFIX.length))
  }

  async function checkSessions(): Promise<void> {
    const bySession = Map.groupBy([...allSockets(shells), ...waiting], socket => socket.sessionId)
    for (const [sessionId, sockets] of bySession) await checkSession(sessionId, sockets)
  }

  async function checkSession(sessionId: string, sockets: readonly TerminalSocket[]): Promise<void> {
    if (await deps.identity.isSessionOpen(sessionId)) return
    for (const socket of sockets) socket.end('signed_out')
  }

  const care = setInterval(() => {
    for (const socket of allSockets(shells)) socket.checkLife()
    checkSessions().catch(error => log.warn({ err: error }, 'sessions of terminals could not be checked'))
  }, limits.pingMs).unref()

  return {
    async issueTicket(subject) {
      await instances.findRunning(subject.userId, subject.instanceId)
      return { ...(await tickets.issue(subject)), path: TERMINAL_PATH }
    },
    stop: (userId, instanceId) => shells.get(`${userId}/${instanceId}`)?.end('stopped'),
    running: instanceId => ofInstance(shells, instanceId).length > 0,
    instances: () => [...shells.values()].map(shell => shell.instanceId),
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
    closeInstance: (instanceId, reason) => {
      for (const shell of ofInstance(shells, instanceId)) shell.end(reason)
    },
    checkInstance: async instanceId => {
      for (const shell of ofInstance(shells, instanceId)) {
        if (!(await stillRuns(shell))) shell.end('instance_stopped')
      }
    },
    checkSessions,
    gauge: () => ({
      shells: shells.size,
      sockets: allSockets(shells).length,
      bytesHeld: [...shells.values()].reduce((sum, shell) => sum + shell.bytesHeld, 0),
    }),
    shutdown: () => {
      clearInterval(care)
      for (const shell of [...shells.values()]) shell.end('gateway_stopping')
      for (const socket of waiting) socket.end('gateway_stopping')
    },
  }
}

function allSockets(shells: ReadonlyMap<string, Shell>): TerminalSocket[] {
  return [...shells.values()].flatMap(shell => [...shell.sockets])
}

function ofInstance(shells: ReadonlyMap<string, Shell>, instanceId: string): Shell[] {
  return [...shells.values()].filter(shell => shell.instanceId === instanceId)
}
