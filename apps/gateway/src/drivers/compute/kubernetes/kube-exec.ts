import { z } from 'zod'
import { createPile } from '../pile.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { ExecOptions, ExecResult } from '../port/console.ts'
import type { KubeLink } from './kube-link.ts'
import { pathOf } from './kube-names.ts'
import { MACHINE_CONTAINER } from './pod-plan.ts'

/** A machine's pod. */
export interface PodPlace {
  namespace: string
  pod: string
}

/** What is heard of a process in a pod. */
export interface ExecEvents {
  onStdout(chunk: Buffer): void
  onStderr(chunk: Buffer): void
  /** What was written has been taken, after `write` said that it was not. */
  onDrain(): void
  /** Called once, behind all output. Null: nobody knows how it ended. */
  onEnd(end: { code: number | null; said: string }): void
}

/** A process in a pod, with its streams. */
export interface PodProcess {
  /** False: no more, please, until `onDrain`. */
  write(data: Buffer): boolean
  endInput(): void
  resize(cols: number, rows: number): void
  pause(): void
  resume(): void
  /** Leaves it. What runs in there is not ended by that. */
  close(): void
}

/** The newest first: by it an input can be ended. */
const PROTOCOLS = ['v5.channel.k8s.io', 'v4.channel.k8s.io']
const CHANNEL = { stdin: 0, stdout: 1, stderr: 2, status: 3, resize: 4, close: 255 } as const
const INPUT_BYTES_MAX = 32 * 1024
/** More than this is not kept here for a process that does not read. */
const HELD_BYTES_MAX = 256 * 1024

const EXEC_TIMEOUT_MS = 30_000
const EXEC_OUTPUT_BYTES_MAX = 1024 * 1024
/** Tells its own id before it becomes the command: the API ends a process only by another one. */
const TELL_PID_SCRIPT = 'echo $$; exec "$@"'

const endSchema = z.object({
  status: z.string(),
  message: z.string().default(''),
  details: z
    .object({
      causes: z.array(z.object({ reason: z.string().default(''), message: z.string().default('') })),
    })
    .partial()
    .optional(),
})

/**
 * Starts a process in a machine's container. It is not read until it is resumed.
 * @throws As `KubeLink.socket` does.
 */
export async function openProcess(
  link: KubeLink,
  { namespace, pod }: PodPlace,
  options: { command: string[]; tty: boolean; stdin: boolean },
  events: ExecEvents,
): Promise<PodProcess> {
  const { command, tty, stdin } = options
  const socket = await link.socket(`${pathOf('pods', namespace, pod)}/exec`, PROTOCOLS, {
    container: MACHINE_CONTAINER,
    command,
    stdin,
    tty,
    stdout: true,
    // A terminal has one output.
    stderr: !tty,
  })
  let end = { code: null as number | null, said: '' }
  let isWaitedFor = false
  const sent = () => {
    if (!isWaitedFor || socket.bufferedAmount > 0) return
    isWaitedFor = false
    events.onDrain()
  }
  const send = (channel: number, payload: Uint8Array) => {
    if (socket.readyState !== socket.OPEN) return
    const frame = Buffer.allocUnsafe(payload.length + 1)
    frame.writeUInt8(channel, 0)
    frame.set(payload, 1)
    socket.send(frame, sent)
  }
  socket.on('message', (data: Buffer) => {
    const payload = data.subarray(1)
    switch (data[0]) {
      case CHANNEL.stdout:
        return void (payload.length > 0 && events.onStdout(payload))
      case CHANNEL.stderr:
        return void (payload.length > 0 && events.onStderr(payload))
      case CHANNEL.status:
        end = readEnd(payload.toString())
    }
  })
  // How it ended may be told before its last output is.
  socket.once('close', () => events.onEnd(end))

  return {
    write(data) {
      for (let at = 0; at < data.length; at += INPUT_BYTES_MAX)
        send(CHANNEL.stdin, data.subarray(at, at + INPUT_BYTES_MAX))
      if (socket.readyState !== socket.OPEN || socket.bufferedAmount < HELD_BYTES_MAX) return true
      isWaitedFor = true
      return false
    },
    endInput: () => send(CHANNEL.close, Buffer.of(CHANNEL.stdin)),
    resize: (cols, rows) => send(CHANNEL.resize, Buffer.from(JSON.stringify({ Width: cols, Height: rows }))),
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    close: () => {
      // A paused socket would never hear that the other side has closed.
      socket.resume()
      socket.terminate()
    },
  }
}

/** Reads what the API says of the end of a process. */
function readEnd(text: string): { code: number | null; said: string } {
  let parsed: unknown = null
  try {
    parsed = JSON.parse(text)
  } catch {
    return { code: null, said: text.slice(0, 300) }
  }
  const { data } = endSchema.safeParse(parsed)
  if (!data) return { code: null, said: '' }
  if (data.status === 'Success') return { code: 0, said: '' }
  const code = data.details?.causes?.find(({ reason }) => reason === 'ExitCode')?.message
  return { code: code === undefined ? null : Number(code), said: data.message }
}

/** Runs a command to its end. Throws what `KubeLink.socket` throws, and `failed` when time is up. */
export async function runExec(
  link: KubeLink,
  place: PodPlace,
  argv: string[],
  options: ExecOptions = {},
): Promise<ExecResult> {
  const { timeout_ms = EXEC_TIMEOUT_MS, output_bytes_max = EXEC_OUTPUT_BYTES_MAX } = options
  const out = createPile()
  const err = createPile()
  let bytesLeft = output_bytes_max
  let pid = 0
  const keep = (pile: typeof out, piece: Buffer) => {
    const kept = piece.subarray(0, bytesLeft)
    bytesLeft -= kept.length
    if (kept.length > 0) pile.add(kept)
  }
  const head = headLine(
    line => {
      pid = Number(line)
    },
    rest => keep(out, rest),
  )
  const ended = Promise.withResolvers<{ code: number | null; said: string }>()
  const command = ['/bin/sh', '-c', TELL_PID_SCRIPT, 'berth', ...argv]
  const process = await openProcess(
    link,
    place,
    { command, tty: false, stdin: false },
    {
      onStdout: head,
      onStderr: chunk => keep(err, chunk),
      onDrain: () => undefined,
      onEnd: ended.resolve,
    },
  )
  process.resume()
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    if (pid > 0) killGroup(link, place, pid).catch(() => undefined)
    process.close()
  }, timeout_ms)
  const { code, said } = await ended.promise
  clearTimeout(timer)
  if (isLate) throw new ComputeError('failed', `the command did not end within ${timeout_ms} ms`)
  if (code === null)
    throw new ComputeError('not_running', `the machine stopped while the command ran: ${said}`)
  return { exit_code: code, stdout: out.text(), stderr: err.text() }
}

/** A shell that only sends a signal has done so by then. */
const KILL_MS_MAX = 5_000

/** Sends a signal to a process of the machine and to all in its group. */
export async function killGroup(
  link: KubeLink,
  place: PodPlace,
  pid: number,
  signal = 'KILL',
): Promise<void> {
  const line = `kill -${signal} -${pid} 2>/dev/null || kill -${signal} ${pid}`
  const isOver = Promise.withResolvers<void>()
  const events = { onStdout() {}, onStderr() {}, onDrain() {}, onEnd: () => isOver.resolve() }
  const command = ['/bin/sh', '-c', line]
  const process = await openProcess(link, place, { command, tty: false, stdin: false }, events)
  process.resume()
  // Its shell is the machine's own, which may never end.
  const timer = setTimeout(process.close, KILL_MS_MAX).unref()
  void isOver.promise.then(() => clearTimeout(timer))
}

/** The most that a first line has. */
const HEAD_BYTES_MAX = 64

/** Takes the first line off the front of an output. @param onRest What comes behind it. */
export function headLine(
  onLine: (line: string) => void,
  onRest: (chunk: Buffer) => void,
): (chunk: Buffer) => void {
  let head: Buffer | null = Buffer.alloc(0)
  return chunk => {
    if (head === null) return onRest(chunk)
    head = Buffer.concat([head, chunk])
    const end = head.indexOf(10)
    if (end < 0 && head.length < HEAD_BYTES_MAX) return
    const all = head
    head = null
    onLine(all.toString('latin1', 0, Math.max(end, 0)))
    if (all.length > end + 1) onRest(all.subarray(end + 1))
  }
}
