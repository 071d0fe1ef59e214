import type { Duplex } from 'node:stream'
import type { TerminalEnd, TerminalServerFrame } from '@berth/contract/terminal'
import type { Logger } from 'pino'
import { ComputeError } from '../../../drivers/compute/port/compute-error.ts'
import { type ConsoleLine, type LineEnd, openLine } from '../../../drivers/compute/port/console-line.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { MESSAGE_COST_BYTES, type TerminalLimits } from './terminal-limits.ts'
import type { TerminalSocket } from './terminal-socket.ts'

/** A tab of a browser, joined with the shell that it looks at by a line of its own. */
export interface Tab {
  readonly userId: string
  readonly instanceId: string
  /** Number of the shell. */
  readonly session: number
  readonly socket: TerminalSocket
  /** Memory that this process holds for it, in bytes. */
  readonly bytesHeld: number
  /** Ends the tab; the shell goes on. The first reason stands. */
  end(reason: TerminalEnd): void
}

export interface TabDeps {
  userId: string
  instanceId: string
  /** Number of the shell. */
  session: number
  /** Has just said its size. */
  socket: TerminalSocket
  size: { cols: number; rows: number }
  /** Opens a line to the shell. */
  attach(): Promise<Duplex>
  /** Whether the instance still runs: tells a line that broke from one to a machine that was stopped. */
  stillRuns(): Promise<boolean>
  limits: TerminalLimits
  log: Pick<Logger, 'info' | 'warn'>
  /** Called once, when the tab is gone. */
  onEnd(): void
}

/** The ends that the machine's side tells, in the words that browsers know. */
const ENDS: Record<Exclude<LineEnd['reason'], 'exited' | 'lost'>, TerminalEnd> = {
  closed: 'stopped',
  idle: 'idle',
  too_many_viewers: 'too_many_sockets',
  too_many_sessions: 'too_many_shells',
}

/** Joins a socket with a shell. What the tab types before the shell is there is kept for it. */
export function joinTab(deps: TabDeps): Tab {
  const { instanceId, socket, limits, log } = deps
  let line: ConsoleLine | null = null
  let over = false
  let isHeld = false
  let isPaused = false
  let ahead: Buffer[] = []
  let aheadBytes = 0
  let { size } = deps

  async function join(): Promise<void> {
    const first = size
    const stream = await deps.attach()
    if (over) return void stream.destroy()
    const opened = openLine(stream, {
      onReplayBegin: () => show({ kind: 'replay_begin' }),
      onReplayEnd: () => show({ kind: 'replay_end' }),
      onOutput: bytes => show({ kind: 'output', bytes }),
      onDrain: () => hold(false),
      onEnd: how => void ended(how),
    })
    line = opened
    if (size !== first) opened.resize(size.cols, size.rows)
    for (const bytes of ahead) type(bytes)
    ahead = []
    aheadBytes = 0
    if (opened.bytesHeld <= limits.inputWaitingBytesMax) hold(false)
  }

  function show(frame: TerminalServerFrame): void {
    socket.send(frame)
    // The machine's side waits for the tab by itself; one that does not must not fill this process.
    if (socket.bytesHeld > limits.heldHighBytes) pause(true)
  }

  function type(bytes: Buffer): void {
    if (line) {
      tell(to => to.type(bytes))
      return
    }
    ahead.push(bytes)
    aheadBytes += bytes.length + MESSAGE_COST_BYTES
    if (aheadBytes > limits.inputWaitingBytesMax) hold(true)
  }

  /** Whatever a tab sends waits where the machine's side takes nothing: signs of life and sizes as much as typing. */
  function tell(say: (line: ConsoleLine) => void): void {
    if (!line) return
    say(line)
    if (line.bytesHeld > limits.inputWaitingBytesMax) hold(true)
  }

  function hold(held: boolean): void {
    if (held === isHeld) return
    isHeld = held
    socket.holdInput(held)
  }

  function pause(paused: boolean): void {
    if (paused === isPaused) return
    isPaused = paused
    if (paused) line?.pause()
    else line?.resume()
  }

  async function ended({ reason, code }: LineEnd): Promise<void> {
    if (reason !== 'exited' && reason !== 'lost') {
      end(ENDS[reason])
      return
    }
    const runs = await deps.stillRuns().catch(() => true)
    if (!runs) end('instance_stopped')
    else if (reason === 'exited') end('shell_exited', code)
    else end('line_lost')
  }

  function failed(error: unknown): void {
    if (over) return
    const code = error instanceof ComputeError ? error.code : null
    if (code === 'not_running' || code === 'not_found') {
      end('instance_stopped')
      return
    }
    if (code === 'guest_closed' || code === 'guest_refused') {
      end(code)
      return
    }
    log.warn({ err: error, instance: instanceId }, 'a shell could not be reached')
    // What does not answer now may be back in a moment, here or by another gateway.
    end(code === 'engine_unavailable' || error instanceof ApiError ? 'line_lost' : 'failed')
  }

  function end(reason: TerminalEnd, code: number | null = null): void {
    if (over) return
    socket.end(reason, code)
    leave()
  }

  function leave(): void {
    if (over) return
    over = true
    line?.close()
    deps.onEnd()
  }

  socket.listen({
    onResize: (cols, rows) => {
      size = { cols, rows }
      tell(to => to.resize(cols, rows))
    },
    onInput: type,
    onAck: bytes => tell(to => to.ack(bytes)),
    onSent: () => {
      if (isPaused && socket.bytesHeld < limits.heldLowBytes) pause(false)
    },
    onClose: leave,
  })
  join().catch(failed)

  return {
    userId: deps.userId,
    instanceId,
    session: deps.session,
    socket,
    get bytesHeld() {
      return socket.bytesHeld + (line?.bytesHeld ?? aheadBytes)
    },
    end: reason => end(reason),
  }
}
