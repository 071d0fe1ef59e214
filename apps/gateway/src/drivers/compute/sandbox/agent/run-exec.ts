import { spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { encodeFrame, encodeJson, FRAME } from '../../sessions/frames.ts'
import { asKernelsFirstChoice } from './processes.ts'
import type { AgentRequest } from './requests.ts'

/** How long output may still come from children that outlive the command. */
const OUTPUT_AFTER_EXIT_MS = 50

/** The exit code that shells use for a command that is not there. */
const EXIT_NOT_FOUND = 127

/** Runs one command without a pty and sends what it wrote, up to the limit, then how it ended. */
export function runExec(
  socket: Socket,
  request: Extract<AgentRequest, { op: 'exec' }>,
  machine: { cwd: string; env: Record<string, string> },
): void {
  const [file = 'false', ...args] = request.argv
  const child = asKernelsFirstChoice(() =>
    spawn(file, args, { ...machine, stdio: ['ignore', 'pipe', 'pipe'], detached: true }),
  )
  let bytesLeft = request.output_bytes_max
  let timedOut = false
  let ended = false

  const forward = (type: number) => (chunk: Buffer) => {
    const piece = chunk.subarray(0, bytesLeft)
    bytesLeft -= piece.length
    if (piece.length > 0 && !ended) socket.write(encodeFrame(type, piece))
  }
  const end = (code: number) => {
    if (ended) return
    ended = true
    clearTimeout(timer)
    socket.end(encodeJson(FRAME.exit, { code, timed_out: timedOut }))
  }
  const killGroup = () => {
    if (ended || child.pid === undefined) return
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch {
      // The group ended by itself in the meantime.
    }
  }
  const timer = setTimeout(() => {
    timedOut = true
    killGroup()
  }, request.timeout_ms)

  socket.write(encodeJson(FRAME.ok, {}))
  socket.on('close', killGroup)
  child.stdout.on('data', forward(FRAME.data))
  child.stderr.on('data', forward(FRAME.stderr))
  child.on('error', error => {
    forward(FRAME.stderr)(Buffer.from(`${error.message}\n`))
    end(EXIT_NOT_FOUND)
  })
  const codeOf = (code: number | null) => code ?? 128 + 9
  child.on('close', code => end(codeOf(code)))
  child.on('exit', code => setTimeout(() => end(codeOf(code)), OUTPUT_AFTER_EXIT_MS))
}
