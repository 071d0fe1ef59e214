/**
 * The keeper of terminals: a process of its own beside a Docker Engine or a cluster, which holds the shells in containers and their
 * last output, so that both outlive the gateway that opened them. Docker gives the stream of an exec only to whoever
 * started it, and nothing can be assumed of an image that could hold a pty in the container itself.
 *
 * It is started by a gateway (`keeper-client.ts`) with its plan on the standard input, answers on a socket in a folder
 * that only its own user may enter, and ends by itself when it has held nothing for a while. One a folder: whoever comes
 * second finds that the first one answers, and leaves (`keeper-name.ts`).
 */
import { createServer, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { pino } from 'pino'
import { asFailure, encodeFailure } from '../port/answers.ts'
import { FRAME, FrameReader } from '../sessions/frames.ts'
import { createSessionHost, type SessionHost } from '../sessions/session-host.ts'
import { takeKeeperName } from './keeper-name.ts'
import type { KeeperPlan, KeeperRequest } from './keeper-words.ts'
import { keptShells } from './kept-shells.ts'
import { hasRoomFor } from './shell-room.ts'

const MACHINE_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/

process.title = 'berth-terminals'
process.on('uncaughtException', complain)

const plan = JSON.parse(await text(process.stdin)) as KeeperPlan
const shells = await keptShells(plan.place, pino({ level: 'warn' }, process.stderr))
const hosts = new Map<string, SessionHost>()
const sockets = new Set<Socket>()
let lingering: NodeJS.Timeout | null = null

const name = await takeKeeperName(plan.folder, () => createServer({ allowHalfOpen: true }, serve)).catch(
  (error: unknown) => {
    complain(error)
    process.exit(1)
  },
)
if (name === null) process.exit(0)
rest()

function serve(socket: Socket): void {
  sockets.add(socket)
  if (lingering) clearTimeout(lingering)
  socket.on('error', () => socket.destroy())
  socket.once('close', () => {
    sockets.delete(socket)
    rest()
  })
  const reader = new FrameReader((type, payload) => {
    socket.off('data', onData)
    if (type !== FRAME.request) return void socket.destroy()
    const { machine, ...request } = JSON.parse(payload.toString()) as KeeperRequest
    if (!MACHINE_NAME.test(machine)) return void socket.end(encodeFailure(new Error('no name of a machine')))
    hostOf(machine).serve(socket, request)
    if (hostOf(machine).size === 0) hosts.delete(machine)
  })
  const onData = (chunk: Buffer) => {
    try {
      reader.push(chunk)
    } catch (error) {
      socket.end(encodeFailure(error))
    }
  }
  socket.on('data', onData)
}

function hostOf(machine: string): SessionHost {
  const known = hosts.get(machine)
  if (known) return known
  const host = createSessionHost({
    open: (options, events) => shells.open(machine, options, events),
    failureOf: error => asFailure(shells.failureOf(error, `opening a terminal in ${machine}`)),
    mayOpen: () => hasRoomFor(sessionsHeld(), host.size),
    onEnd: () => {
      if (host.size === 0) hosts.delete(machine)
      rest()
    },
  })
  hosts.set(machine, host)
  return host
}

function sessionsHeld(): number {
  return [...hosts.values()].reduce((sum, host) => sum + host.size, 0)
}

/** With nothing held and nobody there, the clock runs. */
function rest(): void {
  if (lingering) clearTimeout(lingering)
  if (sockets.size > 0 || sessionsHeld() > 0) return
  lingering = setTimeout(() => {
    name?.release()
    process.exit(0)
  }, plan.linger_ms)
}

/** Into the log of this keeper's start. */
function complain(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? error.stack : error}\n`)
}
