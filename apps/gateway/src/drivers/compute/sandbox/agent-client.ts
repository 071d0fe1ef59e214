import { closeSync, constants, openSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { READ_AHEAD } from '../../../platform/read-ahead.ts'
import { createPile, type Pile } from '../pile.ts'
import { fieldsOf, finite, parseJson, readAnswer } from '../port/answers.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { ExecOptions, ExecResult, RunOptions } from '../port/console.ts'
import { encodeJson, FRAME, FrameReader, type SessionRequest } from '../sessions/frames.ts'
import { AGENT_PROTOCOL, type AgentRequest } from './agent/requests.ts'

/** The socket's name in a machine's run folder. */
export const AGENT_SOCKET = 'agent.sock'

const ANSWER_TIMEOUT_MS = 10_000
/** A shell or a program may have to be asked for in a system that is slow: a virtual machine's own server has 20 s. */
const STARTED_TIMEOUT_MS = 25_000
/** A program that was asked for has begun long before this, unless the machine does nothing at all at the moment. */
const SILENT_MS = 2_000
const EXEC_TIMEOUT_MS = 30_000
const EXEC_OUTPUT_BYTES_MAX = 1024 * 1024

/**
 * What the agent says at once on the socket by which it is watched: an answer, and then a word each time that the command
 * ends. It is heard once in so long, which is as often as a command ends.
 */
const WATCH_BYTES_MAX = 1024
const WATCH_PAUSE_MS = 1_000

/** How much longer than the agent itself the gateway waits, in case that the agent hangs. */
const AGENT_HANGS_MS = 5_000

/** Sums over every process of a machine. */
interface MachineSums {
  cpuMs: number
  memoryBytes: number
  /** Null where measuring it takes long. */
  diskBytes: number | null
}

/** Talks to the agent whose socket lies in `runDir`. Everything that comes back is taken as hostile input. */
export interface AgentClient {
  /**
   * Returns when the agent answers, and whether it waits for `begin`. Fails with `not_running` when no process holds its
   * socket.
   */
  hello(): Promise<{ waits: boolean }>
  /** Has the machine's command started, once. */
  begin(): Promise<void>
  /** Stays connected for as long as the machine lives: calls back when its command has ended, and once when it is gone. */
  watch(events: { onCommandEnd(): void; onGone(): void }): { close(): void }
  stats(): Promise<MachineSums>
  /** Asks the customer's processes to end and returns when they have, or when the grace is over. */
  stop(graceMs: number): Promise<void>
  exec(argv: string[], options: ExecOptions): Promise<ExecResult>
  /** What concerns shells. For `attach` the socket then is the line. */
  session(request: SessionRequest): Promise<Conversation>
  /** Runs a program; the socket then is its line. */
  run(options: RunOptions): Promise<Duplex>
  connect(port: number): Promise<Duplex>
  /** Opens a way for datagrams to a port in there; the socket then is its line. */
  udp(port: number): Promise<Duplex>
}

export function createAgentClient(runDir: string): AgentClient {
  const ask = (request: AgentRequest, timeoutMs?: number) => converse(runDir, request, timeoutMs)
  const hello = async () => {
    const { answer, socket } = await ask({ op: 'hello' })
    socket.destroy()
    return fieldsOf(answer)
  }
  return {
    hello: async () => {
      const { protocol, waits } = await hello()
      if (protocol !== AGENT_PROTOCOL) {
        throw new ComputeError('failed', 'the machine runs an agent of another version; restart it')
      }
      // An agent of the version before began by itself, and does not say.
      return { waits: waits === true }
    },
    begin: async () => {
      const { socket } = await ask({ op: 'begin' })
      socket.destroy()
    },
    watch: events => watch(openSocket(runDir), events),
    stats: async () => {
      const { answer, socket } = await ask({ op: 'stats' })
      socket.destroy()
      const { cpu_ms, memory_bytes, disk_bytes } = fieldsOf(answer)
      return {
        cpuMs: finite(cpu_ms) ?? 0,
        memoryBytes: finite(memory_bytes) ?? 0,
        diskBytes: finite(disk_bytes),
      }
    },
    stop: async graceMs => {
      const { socket } = await ask({ op: 'stop', grace_ms: graceMs }, graceMs + AGENT_HANGS_MS)
      socket.destroy()
    },
    exec: (argv, options) => runExec(ask, argv, options),
    session: async request => ask(request, STARTED_TIMEOUT_MS),
    run: async ({ command, env = {}, pty = null }) => {
      const { socket } = await unlessOutdated(
        ask({ op: 'run', command, env, pty }, STARTED_TIMEOUT_MS),
        hello,
      )
      return socket
    },
    connect: async port => (await ask({ op: 'connect', port })).socket,
    udp: async port => (await ask({ op: 'udp', port })).socket,
  }
}

/**
 * What an agent answers to a question that those of earlier versions leave open for ever, while they greet.
 * @throws ComputeError `outdated`, and what the question throws.
 */
async function unlessOutdated(
  asked: Promise<Conversation>,
  hello: () => Promise<Record<string, unknown>>,
): Promise<Conversation> {
  let timer: NodeJS.Timeout | undefined
  const silence = new Promise<null>(resolve => {
    timer = setTimeout(resolve, SILENT_MS, null)
  })
  const answered = await Promise.race([asked, silence]).finally(() => clearTimeout(timer))
  if (answered) return answered
  asked.catch(() => undefined)
  if ((await hello()).programs === true) return asked
  throw new ComputeError('outdated', 'the machine was started by an earlier version; restart it')
}

function watch(socket: Socket, events: Parameters<AgentClient['watch']>[0]): { close(): void } {
  socket.unref()
  let closed = false
  let answers = 0
  let hasEnded = false
  const reader = new FrameReader(type => {
    if (type === FRAME.exit) hasEnded = true
    else answers += 1
  })
  socket.on('error', () => undefined)
  socket.on('end', () => socket.destroy())
  socket.on('close', () => {
    if (!closed) events.onGone()
  })
  socket.write(encodeJson(FRAME.request, { op: 'watch' }))
  socket.on('data', (chunk: Buffer) => {
    // Whoever talks so is not the agent any more: the machine is looked at by its first process instead.
    if (chunk.length > WATCH_BYTES_MAX || !isRead(reader, chunk) || answers > 1) return void socket.destroy()
    if (!hasEnded) return
    hasEnded = false
    events.onCommandEnd()
    socket.pause()
    setTimeout(() => socket.resume(), WATCH_PAUSE_MS).unref()
  })
  return {
    close: () => {
      closed = true
      socket.destroy()
    },
  }
}

/** Whether a reader took what came for frames. */
function isRead(reader: FrameReader, chunk: Buffer): boolean {
  try {
    reader.push(chunk)
    return true
  } catch {
    return false
  }
}

interface Conversation {
  answer: unknown
  /** Not flowing yet; what came behind the answer is still on it. */
  socket: Socket
}

/** Sends a request to whoever has the socket in `runDir`, and waits for the answer to it. */
export async function converse(
  runDir: string,
  request: { op: string },
  timeoutMs = ANSWER_TIMEOUT_MS,
): Promise<Conversation> {
  const socket = openSocket(runDir)
  socket.write(encodeJson(FRAME.request, request))
  return { answer: await readAnswer(socket, timeoutMs), socket }
}

/**
 * Opens the agent's socket. Unix socket addresses hold 107 bytes and data folders may lie deeper, so the
 * folder is opened first and the socket addressed through /proc/self/fd.
 */
function openSocket(runDir: string): Socket {
  let dir: number
  try {
    dir = openSync(runDir, constants.O_RDONLY | constants.O_DIRECTORY)
  } catch (cause) {
    throw new ComputeError('not_running', 'the machine does not run', { cause })
  }
  const options = { path: `/proc/self/fd/${dir}/${AGENT_SOCKET}`, allowHalfOpen: true, ...READ_AHEAD }
  const socket = connect(options)
  let open = true
  const closeDir = () => {
    if (open) closeSync(dir)
    open = false
  }
  socket.once('connect', closeDir)
  socket.once('close', closeDir)
  return socket
}

async function runExec(
  ask: (request: AgentRequest, timeoutMs?: number) => Promise<Conversation>,
  argv: string[],
  options: ExecOptions,
): Promise<ExecResult> {
  const timeoutMs = options.timeout_ms ?? EXEC_TIMEOUT_MS
  const outputBytesMax = options.output_bytes_max ?? EXEC_OUTPUT_BYTES_MAX
  const { socket } = await ask(
    { op: 'exec', argv, timeout_ms: timeoutMs, output_bytes_max: outputBytesMax },
    STARTED_TIMEOUT_MS,
  )
  const out = createPile()
  const err = createPile()
  let bytesLeft = outputBytesMax
  const keep = (pile: Pile, piece: Buffer) => {
    bytesLeft -= piece.length
    if (bytesLeft < 0) throw new Error('there is more output than was asked for')
    pile.add(piece)
  }
  const timer = setTimeout(() => socket.destroy(), timeoutMs + AGENT_HANGS_MS)
  try {
    const { code, timed_out } = await readExit(socket, (type, payload) => {
      if (type === FRAME.data) keep(out, payload)
      else if (type === FRAME.stderr) keep(err, payload)
      else throw new Error(`a frame of type ${type} is not for a command`)
    })
    if (timed_out === true) {
      throw new ComputeError('failed', `the command did not end within ${timeoutMs} ms`)
    }
    return { exit_code: finite(code) ?? 1, stdout: out.text(), stderr: err.text() }
  } finally {
    clearTimeout(timer)
    socket.destroy()
  }
}

/**
 * Reads frames until the one that says how a command ended.
 * @param onFrame Is given all others; what it throws ends the reading as a break of the protocol.
 * @returns What the last one holds.
 * @throws ComputeError
 */
function readExit(
  socket: Socket,
  onFrame: (type: number, payload: Buffer) => void,
): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    const reader = new FrameReader((type, payload) => {
      if (type !== FRAME.exit) return onFrame(type, payload)
      reader.hold()
      resolve(fieldsOf(parseJson(payload)))
    })
    const gone = () => reject(new ComputeError('not_running', 'the machine stopped while the command ran'))
    socket.on('data', (chunk: Buffer) => {
      try {
        reader.push(chunk)
      } catch (cause) {
        socket.destroy()
        reject(new ComputeError('failed', 'the machine’s agent broke its protocol', { cause }))
      }
    })
    socket.on('end', gone)
    socket.on('close', gone)
  })
}
