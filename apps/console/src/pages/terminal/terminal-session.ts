import { TERMINAL_COLS_MAX, TERMINAL_ROWS_MAX } from '@berth/contract/limits'
import {
  decodeServerFrame,
  encodeClientFrame,
  TERMINAL_CLOSE,
  TERMINAL_INPUT_BYTES_MAX,
  TERMINAL_SUBPROTOCOL,
  TERMINAL_TICKET_PREFIX,
  type TerminalClientFrame,
  type TerminalEnd,
  type TerminalServerFrame,
  terminalEndOf,
} from '@berth/contract/terminal'
import { createOutputAcks } from './output-acks.ts'
import { reconnectDelayMs } from './reconnect-delay.ts'

/** Where a terminal is with its shell. */
export type TerminalState =
  | { kind: 'connecting' }
  | { kind: 'open' }
  /** The connection broke; it is tried again at `retryAt` (milliseconds since 1970). */
  | { kind: 'waiting'; retryAt: number }
  | { kind: 'ended'; reason: TerminalEnd; exitCode: number | null }
  /** No ticket was given, and asking again would change nothing. */
  | { kind: 'refused'; message: string }

/** The part of a WebSocket that a session uses. */
export type SessionSocket = Pick<
  WebSocket,
  'send' | 'close' | 'onopen' | 'onmessage' | 'onclose' | 'readyState' | 'binaryType'
>

export interface TerminalSessionDeps {
  screen: {
    /** Renders bytes or text after all that was handed in before; `done` is called when they are on the screen. */
    write: (data: Uint8Array | string, done: () => void) => void
    size: () => { cols: number; rows: number }
  }
  requestTicket: (signal: AbortSignal) => Promise<{ ticket: string; path: string }>
  /** Says why a ticket was refused for good; null when it is worth another try. */
  finalRefusal: (error: unknown) => string | null
  openSocket: (path: string, protocols: string[]) => SessionSocket
  onState: (state: TerminalState) => void
  now?: () => number
  random?: () => number
}

/** A terminal's way to its shell, over as many sockets as it takes. */
export interface TerminalSession {
  /** Sends typing; what is typed while there is no shell to take it is dropped. */
  type: (bytes: Uint8Array) => void
  /** Tells the shell the screen's size. */
  resized: () => void
  /** Connects now: instead of waiting, or again after an end. */
  connect: () => void
  dispose: () => void
}

/** Clears the screen and what is above it, in order with the output around it. */
const RESET = '\u001bc'
const OPEN = 1

/**
 * Connects a screen to the shell of an instance: each socket with a new ticket, output acknowledged as it is
 * rendered, broken connections opened again (B9).
 * @param deps See TerminalSessionDeps.
 * @returns The session; nothing happens before `connect`.
 */
export function createTerminalSession(deps: TerminalSessionDeps): TerminalSession {
  const { now = Date.now, random = Math.random } = deps
  let attempt: AbortController | null = null
  let socket: SessionSocket | null = null
  let retry: ReturnType<typeof setTimeout> | undefined
  let failures = 0
  /** True while what the emulator says is meant for the shell: not during a replay. */
  let live = false

  function stop(): void {
    clearTimeout(retry)
    attempt?.abort()
    live = false
    if (!socket) return
    socket.onopen = null
    socket.onmessage = null
    socket.onclose = null
    socket.close(1000)
    socket = null
  }

  async function connect(): Promise<void> {
    stop()
    const current = new AbortController()
    attempt = current
    deps.onState({ kind: 'connecting' })
    try {
      const { ticket, path } = await deps.requestTicket(current.signal)
      if (current.signal.aborted) return
      listen(deps.openSocket(path, [TERMINAL_SUBPROTOCOL, `${TERMINAL_TICKET_PREFIX}${ticket}`]))
    } catch (error) {
      if (current.signal.aborted) return
      const message = deps.finalRefusal(error)
      if (message === null) wait()
      else deps.onState({ kind: 'refused', message })
    }
  }

  function listen(opened: SessionSocket): void {
    socket = opened
    const acks = createOutputAcks()
    let exitCode: number | null = null
    opened.binaryType = 'arraybuffer'
    opened.onopen = () => sendSize()
    opened.onmessage = ({ data }) => {
      const frame = data instanceof ArrayBuffer ? decodeServerFrame(new Uint8Array(data)) : null
      if (frame?.kind === 'exit') exitCode = frame.code
      else if (frame) render(opened, frame, acks)
    }
    opened.onclose = ({ code }) => {
      socket = null
      live = false
      const reason = terminalEndOf(code)
      if (reason === null || TERMINAL_CLOSE[reason].reconnect) wait()
      else deps.onState({ kind: 'ended', reason, exitCode })
    }
  }

  function render(
    from: SessionSocket,
    frame: TerminalServerFrame,
    acks: ReturnType<typeof createOutputAcks>,
  ) {
    const isCurrent = () => socket === from
    if (frame.kind === 'output') {
      const { bytes } = frame
      deps.screen.write(bytes, () => {
        const due = acks.rendered(bytes.length)
        if (due > 0 && isCurrent()) send({ kind: 'ack', bytes: due })
      })
    } else if (frame.kind === 'replay_begin') {
      deps.screen.write(RESET, () => {
        live = false
      })
    } else if (frame.kind === 'replay_end') {
      deps.screen.write('', () => {
        if (!isCurrent()) return
        live = true
        failures = 0
        deps.onState({ kind: 'open' })
      })
    }
  }

  function wait(): void {
    failures += 1
    const delayMs = reconnectDelayMs(failures, random())
    retry = setTimeout(() => void connect(), delayMs)
    deps.onState({ kind: 'waiting', retryAt: now() + delayMs })
  }

  function send(frame: TerminalClientFrame): void {
    if (socket?.readyState === OPEN) socket.send(encodeClientFrame(frame))
  }

  function sendSize(): void {
    const { cols, rows } = deps.screen.size()
    send({
      kind: 'resize',
      cols: Math.min(Math.max(1, cols), TERMINAL_COLS_MAX),
      rows: Math.min(Math.max(1, rows), TERMINAL_ROWS_MAX),
    })
  }

  return {
    type(bytes) {
      if (!live) return
      for (let at = 0; at < bytes.length; at += TERMINAL_INPUT_BYTES_MAX) {
        send({ kind: 'input', bytes: bytes.subarray(at, at + TERMINAL_INPUT_BYTES_MAX) })
      }
    },
    resized: sendSize,
    connect: () => void connect(),
    dispose: stop,
  }
}
