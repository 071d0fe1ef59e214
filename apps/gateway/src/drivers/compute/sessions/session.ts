import type { Duplex } from 'node:stream'
import { encodeJson, type Failure, FRAME, type SessionEnd } from './frames.ts'
import { createOutputPump } from './output-pump.ts'
import { type SessionLimits, terminalSide } from './session-limits.ts'
import { createViewer, endLine, type Viewer } from './viewer.ts'

export interface Size {
  cols: number
  rows: number
}

/** What a session hears of its pty. */
export interface PtyEvents {
  onData(chunk: Buffer): void
  /** What was typed has been taken, after `write` said that it was not. */
  onDrain(): void
  /** Called once, behind the last byte of output; the code is null where nobody knows it. */
  onEnd(code: number | null): void
}

/** A shell on a pty, as whoever made it hands it over. */
export interface PtyProcess {
  /** Types into the shell. False: no more, please, until `onDrain`. */
  write(data: Buffer): boolean
  resize(cols: number, rows: number): void
  /** Stops reading the pty, so that the program in it waits. */
  pause(): void
  resume(): void
  /** Hangs up: the shell gets SIGHUP, and `onEnd` follows. */
  hangUp(): void
}

export interface SessionDeps {
  limits: SessionLimits
  /** Makes the shell. What it throws is told to those who wait, in the words of `failureOf`. */
  open(size: Size, events: PtyEvents): PtyProcess | Promise<PtyProcess>
  failureOf(error: unknown): Failure
  /** Called once, as soon as nobody may be attached any more. */
  onEnd(): void
}

/** A shell and those who look at it. It only ever goes from opening to open to ended. */
export interface Session {
  readonly viewers: number
  /** Adds a viewer. It is answered, shown what there is, and then what comes. */
  attach(stream: Duplex, size: Size): void
  /** Ends the shell and its viewers. The first reason stands. */
  end(reason: SessionEnd['reason']): void
}

/**
 * Makes a session. Its shell is opened for the first viewer, and then lives until it exits, is ended, or has had no
 * viewer for too long.
 */
export function createSession({ limits, open, failureOf, onEnd }: SessionDeps): Session {
  const viewers = new Set<Viewer>()
  /** Streams of those who came before the shell was there. */
  const waiting = new Set<Duplex>()
  let state: 'opening' | 'open' | 'ended' = 'opening'
  let pty: PtyProcess | null = null
  let size: Size | null = null
  let idle: NodeJS.Timeout | null = null
  let nudge: NodeJS.Timeout | null = null
  let inputHeld = false
  const output = createOutputPump(limits, { pause: () => pty?.pause(), resume: () => pty?.resume() })

  async function start(first: Size): Promise<void> {
    try {
      const opened = await open(first, {
        onData: chunk => {
          if (state !== 'ended') output.take(chunk)
        },
        onDrain: () => holdInput(false),
        onEnd: code => finish({ reason: 'exited', code }),
      })
      if (stateNow() === 'ended') {
        opened.hangUp()
        return
      }
      pty = opened
    } catch (error) {
      const answer = encodeJson(FRAME.error, failureOf(error))
      for (const stream of waiting) stream.end(answer)
      leave()
      return
    }
    state = 'open'
    if (size && (size.cols !== first.cols || size.rows !== first.rows)) pty.resize(size.cols, size.rows)
    for (const stream of waiting) show(stream)
    waiting.clear()
    rest()
  }

  /** What `state` is by now: what was awaited may have changed it. */
  const stateNow = (): typeof state => state

  function attach(stream: Duplex, its: Size): void {
    if (state === 'ended' || viewers.size + waiting.size >= limits.viewersPerSessionMax) {
      refuse(stream, { reason: state === 'ended' ? 'exited' : 'too_many_viewers', code: null })
      return
    }
    const asked = { cols: terminalSide(its.cols), rows: terminalSide(its.rows) }
    if (idle) clearTimeout(idle)
    const isFirst = size === null
    resize(asked)
    if (state === 'open') {
      show(stream)
      return
    }
    waiting.add(stream)
    stream.on('error', () => stream.destroy())
    stream.once('close', () => waiting.delete(stream))
    if (isFirst) void start(asked)
  }

  function show(stream: Duplex): void {
    stream.write(encodeJson(FRAME.ok, {}))
    const viewer = createViewer(stream, limits)
    viewers.add(viewer)
    viewer.listen({
      onInput: bytes => {
        if (pty?.write(bytes) === false) holdInput(true)
      },
      onResize: (cols, rows) => resize({ cols: terminalSide(cols), rows: terminalSide(rows) }),
      onProgress: () => output.progress(viewer),
      onClose: () => detach(viewer),
    })
    if (inputHeld) viewer.holdInput(true)
    if (viewers.has(viewer) && output.show(viewer) && output.alternateScreen) redraw()
  }

  function detach(viewer: Viewer): void {
    viewers.delete(viewer)
    output.remove(viewer)
    rest()
  }

  /** Without anybody who looks, the clock runs. */
  function rest(): void {
    if (state !== 'open' || viewers.size > 0) return
    if (idle) clearTimeout(idle)
    idle = setTimeout(() => end('idle'), limits.idleMs).unref()
  }

  function holdInput(held: boolean): void {
    inputHeld = held
    for (const viewer of viewers) viewer.holdInput(held)
  }

  function resize(next: Size): void {
    if (size?.cols === next.cols && size.rows === next.rows) return
    size = next
    if (!nudge) pty?.resize(next.cols, next.rows)
  }

  /** Programs redraw when their size changes, and only then: so it is changed, and changed back a little later. */
  function redraw(): void {
    if (!pty || !size || nudge) return
    pty.resize(size.cols, size.rows > 1 ? size.rows - 1 : size.rows + 1)
    nudge = setTimeout(() => {
      nudge = null
      if (size && state === 'open') pty?.resize(size.cols, size.rows)
    }, limits.nudgeMs)
  }

  function finish(reason: SessionEnd): void {
    if (state === 'ended') return
    leave()
    for (const viewer of viewers) viewer.end(reason)
    for (const stream of waiting) refuse(stream, reason)
  }

  function end(reason: SessionEnd['reason']): void {
    if (state === 'ended') return
    finish({ reason, code: null })
    pty?.hangUp()
  }

  function leave(): void {
    state = 'ended'
    output.stop()
    if (idle) clearTimeout(idle)
    if (nudge) clearTimeout(nudge)
    onEnd()
  }

  return {
    get viewers() {
      return viewers.size
    },
    attach,
    end,
  }
}

/** Answers a request to attach, and ends the line at once. */
export function refuse(stream: Duplex, end: SessionEnd): void {
  stream.on('error', () => stream.destroy())
  stream.write(encodeJson(FRAME.ok, {}))
  endLine(stream, end)
}
