/**
 * The keeper of terminals: a process of its own beside a Docker Engine, which holds the shells in containers and their
 * last output, so that both outlive the gateway that opened them. Docker gives the stream of an exec only to whoever
 * started it, and nothing can be assumed of an image that could hold a pty in the container itself.
 *
 * It is started by a gateway (`keeper-client.ts`) with its plan on the standard input, answers on a socket in a folder
 * that only its own user may enter, and ends by itself when it has held nothing for a while. One a folder: whoever comes
 * second finds the first one's lock and leaves.
 */
import { mkdirSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { pino } from 'pino'
import { asFailure, encodeFailure } from '../port/answers.ts'
import { FRAME, FrameReader } from '../sessions/frames.ts'
import { createSessionHost, type SessionHost } from '../sessions/session-host.ts'
import { toComputeError } from './docker-errors.ts'
import { createDockerLink } from './docker-link.ts'
import { openDockerShell } from './docker-shell.ts'
import { KEEPER_SOCKET, type KeeperPlan, type KeeperRequest } from './keeper-words.ts'

/** Shells of all machines together: bounds the memory that their output takes. */
const SESSIONS_MAX = 400
/** How long the one before may take to be gone. */
const LOCK_TIMEOUT_MS = 5_000
const LOCK_POLL_MS = 50
const MACHINE_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/

process.title = 'berth-terminals'
process.on('uncaughtException', complain)

const plan = JSON.parse(await text(process.stdin)) as KeeperPlan
const { docker } = createDockerLink(plan.place, pino({ level: 'warn' }, process.stderr))
const hosts = new Map<string, SessionHost>()
const sockets = new Set<Socket>()
let lingering: NodeJS.Timeout | null = null

if (await takeLock(plan.lock)) await listen(join(plan.folder, KEEPER_SOCKET))
else process.exit(0)

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
    open: (options, events) => openDockerShell(docker.getContainer(machine), options, events),
    failureOf: error => asFailure(toComputeError(error, `opening a terminal in ${machine}`)),
    mayOpen: () => sessionsHeld() < SESSIONS_MAX,
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
    rmSync(plan.folder, { recursive: true, force: true })
    process.exit(0)
  }, plan.linger_ms)
}

/**
 * Takes the lock: a name that the kernel gives to one process and takes back with its end, however that comes.
 * @returns False when another keeper has it and does not end.
 */
async function takeLock(name: string): Promise<boolean> {
  // Other systems have no such names. Two keepers that are started there at the same moment part the terminals.
  if (process.platform !== 'linux') return true
  const deadline = Date.now() + LOCK_TIMEOUT_MS
  while (Date.now() < deadline) {
    if (
      await listens(
        createServer(socket => socket.destroy()),
        `\0${name}`,
      )
    )
      return true
    await new Promise(resolve => setTimeout(resolve, LOCK_POLL_MS))
  }
  return false
}

async function listen(path: string): Promise<void> {
  // The one before takes its folder along. A socket in it lost its owner with the lock.
  mkdirSync(plan.folder, { recursive: true, mode: 0o700 })
  rmSync(path, { force: true })
  if (!(await listens(createServer({ allowHalfOpen: true }, serve), path))) process.exit(1)
  rest()
}

function listens(server: Server, path: string): Promise<boolean> {
  return new Promise(resolve => {
    server.once('error', error => {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') complain(error)
      resolve(false)
    })
    server.listen({ path }, () => resolve(true))
  })
}

/** Into the log of this keeper's start. */
function complain(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? error.stack : error}\n`)
}
