import type { Socket } from 'node:net'
import type { AgentRequest } from '../../sandbox/agent/requests.ts'
import { encodeFrame, encodeJson, type Failure, FRAME, type ProgramEnd } from '../../sessions/frames.ts'
import type { Program } from '../../sessions/serve-program.ts'
import type { GuestPrograms } from './guest-programs.ts'
import { openInGuest } from './open-in-guest.ts'

/** As shells say that a program was killed. */
const KILLED = 128 + 9

/** Runs one command in the guest and sends what it wrote, up to the limit, then how it ended. */
export async function runInGuest(
  socket: Socket,
  request: Extract<AgentRequest, { op: 'exec' }>,
  programs: GuestPrograms,
  failureOf: (error: unknown) => Failure,
): Promise<void> {
  let bytesLeft = request.output_bytes_max
  let isTimedOut = false
  let program: Program | null = null
  /** What it says before it is known to run waits for the answer that goes before it. */
  let early: (() => void)[] | null = []
  const inOrder = (work: () => void) => void (early ? early.push(work) : work())
  const forward = (type: number) => (chunk: Buffer) =>
    inOrder(() => {
      const piece = chunk.subarray(0, bytesLeft)
      bytesLeft -= piece.length
      if (piece.length > 0 && socket.writable) socket.write(encodeFrame(type, piece))
    })
  const onEnd = ({ code }: ProgramEnd) =>
    inOrder(() => {
      clearTimeout(timer)
      socket.end(encodeJson(FRAME.exit, { code: code ?? KILLED, timed_out: isTimedOut }))
    })
  const kill = () => {
    program?.signal('KILL')
    program?.hangUp()
  }
  const timer = setTimeout(() => {
    isTimedOut = true
    kill()
  }, request.timeout_ms)
  socket.on('close', kill)
  try {
    const order = { what: request.argv, env: {}, pty: null }
    program = await openInGuest(programs, order, {
      onData: forward(FRAME.data),
      onStderr: forward(FRAME.stderr),
      onDrain: () => undefined,
      onEnd,
    })
  } catch (error) {
    clearTimeout(timer)
    socket.end(encodeJson(FRAME.error, failureOf(error)))
    return
  }
  socket.write(encodeJson(FRAME.ok, {}))
  const waiting = early
  early = null
  for (const work of waiting) work()
  if (isTimedOut || socket.destroyed) kill()
  else program.end()
}
