import { encodeChunks, encodeFrame, FRAME } from './frames.ts'
import { OutputHistory } from './output-history.ts'
import type { SessionLimits } from './session-limits.ts'
import type { Viewer } from './viewer.ts'

/** Takes a shell's output to its history and to those who view it, no faster than they render it. */
export interface OutputPump {
  /** Whether a full-screen program has the screen. */
  readonly alternateScreen: boolean
  /** Takes output of the shell. */
  take(chunk: Buffer): void
  /** Hands on what was taken in this turn of the event loop. */
  flush(): void
  /** Replays the history to a viewer, which from then on gets what comes. Says whether there was any history. */
  show(viewer: Viewer): boolean
  remove(viewer: Viewer): void
  /** A viewer has rendered or sent something: goes on if it was waited for. */
  progress(viewer: Viewer): void
  stop(): void
}

const NOTHING = Buffer.alloc(0)

/**
 * Makes the pump.
 * @param flow Halts and resumes the program that writes; without any viewer it is never halted.
 */
export function createOutputPump(limits: SessionLimits, flow: { pause(): void; resume(): void }): OutputPump {
  const history = new OutputHistory(limits.historyBytes)
  /** Those that are sent what comes. */
  const watching = new Set<Viewer>()
  /** Those that rendered nothing for too long: sent nothing until they have caught up, then a new replay. */
  const stalled = new Set<Viewer>()
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
    const bytes = pendingBytes
    const frame = encodeChunks(FRAME.data, pending, bytes)
    pending = []
    pendingBytes = 0
    for (const viewer of watching) viewer.send(frame, bytes)
    steer()
  }

  function steer(): void {
    if (!paused && some(watching, viewer => viewer.isBehind)) {
      paused = true
      flow.pause()
      waitForViewers()
    } else if (paused && !some(watching, viewer => !viewer.hasCaughtUp)) {
      paused = false
      flow.resume()
      if (patience) clearTimeout(patience)
      patience = null
    }
  }

  /** A hidden tab may render once a minute: neither its program nor the others wait for that. */
  function waitForViewers(): void {
    const acks = new Map([...watching].map(viewer => [viewer, viewer.acks]))
    patience = setTimeout(() => {
      for (const viewer of watching) {
        if (viewer.hasCaughtUp || viewer.acks !== acks.get(viewer)) continue
        watching.delete(viewer)
        stalled.add(viewer)
      }
      steer()
      if (paused) waitForViewers()
    }, limits.stalledMs).unref()
  }

  function show(viewer: Viewer): boolean {
    // Those who watch already are sent what is pending; the newcomer has it in its replay.
    flush()
    const replay = history.replay()
    viewer.send(encodeFrame(FRAME.replay_begin, NOTHING), 0)
    for (let at = 0; at < replay.length; at += limits.frameBytesMax) {
      const bytes = replay.subarray(at, at + limits.frameBytesMax)
      viewer.send(encodeFrame(FRAME.data, bytes), bytes.length)
    }
    viewer.send(encodeFrame(FRAME.replay_end, NOTHING), 0)
    watching.add(viewer)
    steer()
    return replay.length > 0
  }

  return {
    get alternateScreen() {
      return history.alternateScreen
    },
    take,
    flush,
    show,
    remove: viewer => {
      watching.delete(viewer)
      stalled.delete(viewer)
      steer()
    },
    progress: viewer => {
      if (stalled.has(viewer) && viewer.hasCaughtUp) {
        stalled.delete(viewer)
        show(viewer)
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
