import { encodeServerFrame } from '@berth/contract/terminal'
import type { Pty } from '../../../drivers/compute/port.ts'
import { OutputHistory } from './output-history.ts'
import type { TerminalLimits } from './terminal-limits.ts'
import type { TerminalSocket } from './terminal-socket.ts'

/** Takes a shell's output to its history and to the tabs that watch, no faster than they render it. */
export interface OutputPump {
  /** Whether a full-screen program has the screen. */
  readonly alternateScreen: boolean
  /** Memory that it holds, in bytes: the history, and output that is not handed to a socket yet. */
  readonly bytesHeld: number
  /** Takes output of the shell. */
  take(chunk: Buffer): void
  /** Hands on what was taken in this turn of the event loop. */
  flush(): void
  /** Replays the history to a socket, which from then on gets what comes. Says whether there was any history. */
  show(socket: TerminalSocket): boolean
  remove(socket: TerminalSocket): void
  /** A socket has rendered or sent something: goes on if it was waited for. */
  progress(socket: TerminalSocket): void
  stop(): void
}

/**
 * Makes the pump.
 * @param flow Halts and resumes the program that writes; without any tab it is never halted.
 */
export function createOutputPump(limits: TerminalLimits, flow: Pick<Pty, 'pause' | 'resume'>): OutputPump {
  const history = new OutputHistory(limits.historyBytes)
  /** Those that are sent what comes. */
  const watching = new Set<TerminalSocket>()
  /** Those that rendered nothing for too long: sent nothing until they have caught up, then a new replay. */
  const stalled = new Set<TerminalSocket>()
  let pending: Buffer[] = []
  let pendingBytes = 0
  let paused = false
  let patience: NodeJS.Timeout | null = null

  function take(chunk: Buffer): void {
    history.append(chunk)
    if (watching.size === 0) return
    if (pendingBytes === 0) setImmediate(flush)
    pending.push(chunk)
    pendingBytes += chunk.length
    if (pendingBytes >= limits.frameBytesMax) flush()
  }

  function flush(): void {
    if (pendingBytes === 0) return
    const output = pending.length === 1 && pending[0] ? pending[0] : Buffer.concat(pending, pendingBytes)
    pending = []
    pendingBytes = 0
    const frame = encodeServerFrame({ kind: 'output', bytes: output })
    for (const socket of watching) socket.send(frame, output.length)
    steer()
  }

  function steer(): void {
    if (!paused && some(watching, socket => socket.isBehind)) {
      paused = true
      flow.pause()
      waitForTabs()
    } else if (paused && !some(watching, socket => !socket.hasCaughtUp)) {
      paused = false
      flow.resume()
      if (patience) clearTimeout(patience)
      patience = null
    }
  }

  /** A hidden tab may render once a minute: neither its program nor the other tabs wait for that. */
  function waitForTabs(): void {
    const acks = new Map([...watching].map(socket => [socket, socket.acks]))
    patience = setTimeout(() => {
      for (const socket of watching) {
        if (socket.hasCaughtUp || socket.acks !== acks.get(socket)) continue
        watching.delete(socket)
        stalled.add(socket)
      }
      steer()
      if (paused) waitForTabs()
    }, limits.stalledMs).unref()
  }

  function show(socket: TerminalSocket): boolean {
    // Those who watch already are sent what is pending; the newcomer has it in its replay.
    flush()
    const replay = history.replay()
    socket.send(encodeServerFrame({ kind: 'replay_begin' }), 0)
    for (let at = 0; at < replay.length; at += limits.frameBytesMax) {
      const bytes = replay.subarray(at, at + limits.frameBytesMax)
      socket.send(encodeServerFrame({ kind: 'output', bytes }), bytes.length)
    }
    socket.send(encodeServerFrame({ kind: 'replay_end' }), 0)
    watching.add(socket)
    steer()
    return replay.length > 0
  }

  return {
    get alternateScreen() {
      return history.alternateScreen
    },
    get bytesHeld() {
      return history.bytesHeld + pendingBytes
    },
    take,
    flush,
    show,
    remove: socket => {
      watching.delete(socket)
      stalled.delete(socket)
      steer()
    },
    progress: socket => {
      if (stalled.has(socket) && socket.hasCaughtUp) {
        stalled.delete(socket)
        show(socket)
      }
      if (paused) steer()
    },
    stop: () => {
      flush()
      if (patience) clearTimeout(patience)
    },
  }
}

function some<T>(items: Iterable<T>, test: (item: T) => boolean): boolean {
  for (const item of items) if (test(item)) return true
  return false
}
