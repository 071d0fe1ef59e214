import type { Socket } from 'node:net'
import type Docker from 'dockerode'
import { createPile, type Pile } from '../pile.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { ExecOptions, ExecResult } from '../port/console.ts'

const EXEC_TIMEOUT_MS = 30_000
const EXEC_OUTPUT_BYTES_MAX = 1024 * 1024
const STREAM_HEADER_BYTES = 8
const STDERR = 2

/** Tells its own id before it becomes the command, since Docker can end an exec only through its process. */
const TELL_PID_SCRIPT = 'echo $$; exec "$@"'

/** Runs a command to its end in a container. Throws what dockerode throws, and `failed` when time is up. */
export async function runExec(
  container: Docker.Container,
  argv: string[],
  options: ExecOptions,
): Promise<ExecResult> {
  const timeoutMs = options.timeout_ms ?? EXEC_TIMEOUT_MS
  const exec = await container.exec({
    AttachStdout: true,
    AttachStderr: true,
    Cmd: ['/bin/sh', '-c', TELL_PID_SCRIPT, 'berth', ...argv],
  })
  const socket = (await exec.start({ hijack: true, stdin: false })) as unknown as Socket
  const output = collectOutput(options.output_bytes_max ?? EXEC_OUTPUT_BYTES_MAX)
  let timedOut = false
  const timer = setTimeout(() => {
    timedOut = true
    const pid = output.pid()
    if (pid !== null) killGroup(container, pid).catch(() => undefined)
    socket.destroy()
  }, timeoutMs)
  try {
    await new Promise<void>(resolve => {
      socket.on('data', output.push)
      socket.on('end', resolve)
      socket.on('error', () => resolve())
      socket.on('close', () => resolve())
    })
  } finally {
    clearTimeout(timer)
    socket.destroy()
  }
  if (timedOut) throw new ComputeError('failed', `the command did not end within ${timeoutMs} ms`)
  const { ExitCode } = await exec.inspect()
  if (ExitCode === null) throw new ComputeError('not_running', 'the machine stopped while the command ran')
  return { exit_code: ExitCode, ...output.result() }
}

/** Sends a signal to a process of the container and to all in its group. */
export async function killGroup(container: Docker.Container, pid: number, signal = 'KILL'): Promise<void> {
  const exec = await container.exec({
    Cmd: ['/bin/sh', '-c', `kill -${signal} -${pid} || kill -${signal} ${pid}`],
  })
  await exec.start({ Detach: true })
}

/**
 * Parts what the engine sends for an exec or a log without a pty: each piece has a header of eight bytes that
 * says which of the two outputs it belongs to and how long it is.
 */
export function createDemuxer(onPiece: (isStderr: boolean, piece: Buffer) => void): (chunk: Buffer) => void {
  let pending: Buffer = Buffer.alloc(0)
  let isStderr = false
  let left = 0
  return chunk => {
    let rest = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
    for (;;) {
      if (left === 0) {
        if (rest.length < STREAM_HEADER_BYTES) break
        isStderr = rest.readUInt8(0) === STDERR
        left = rest.readUInt32BE(4)
        rest = rest.subarray(STREAM_HEADER_BYTES)
      }
      if (rest.length === 0) break
      const piece = rest.subarray(0, left)
      left -= piece.length
      rest = rest.subarray(piece.length)
      onPiece(isStderr, piece)
    }
    pending = rest
  }
}

/** Gathers output up to the limit; the first line of the standard output is the process id. */
function collectOutput(bytesMax: number) {
  const out = createPile()
  const err = createPile()
  let head: Buffer | null = Buffer.alloc(0)
  let pid: number | null = null
  let bytesLeft = bytesMax
  const keep = (pile: Pile, piece: Buffer) => {
    const kept = piece.subarray(0, bytesLeft)
    bytesLeft -= kept.length
    if (kept.length > 0) pile.add(kept)
  }
  const push = createDemuxer((isStderr, piece) => {
    if (isStderr) return keep(err, piece)
    if (head === null) return keep(out, piece)
    head = Buffer.concat([head, piece])
    const lineEnd = head.indexOf(10)
    if (lineEnd < 0) return
    pid = Number(head.subarray(0, lineEnd).toString())
    keep(out, head.subarray(lineEnd + 1))
    head = null
  })
  return {
    push,
    pid: () => pid,
    // An engine that could not start even the shell says why in place of the output.
    result: () => ({
      stdout: out.text(),
      stderr: (head?.toString() ?? '') + err.text(),
    }),
  }
}
