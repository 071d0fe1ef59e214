import { TERMINAL_COLS_MAX, TERMINAL_ROWS_MAX } from './limits.ts'

/**
 * What the web terminal's two ends say to each other over its WebSocket. Every message is binary: one byte of
 * kind, then the payload. Terminal bytes are never decoded on the way.
 *
 * The client speaks first, with a `resize`: until then the server sends nothing, so that the shell is born in
 * the right size. The server then answers with a replay (`replay_begin`, `output`…, `replay_end`; empty for a
 * new shell) and goes on with live `output`. A client clears its screen at `replay_begin`, and sends none of
 * the answers that its emulator gives to the replayed bytes: the shell had them the first time.
 */

/** Where the socket is, on the console's origin. */
export const TERMINAL_PATH = '/gateway/api/terminal'

/** The subprotocol, and the prefix of the one that carries the ticket: both are offered, the first is taken. */
export const TERMINAL_SUBPROTOCOL = 'berth.terminal'
export const TERMINAL_TICKET_PREFIX = 'berth.ticket.'

/** First byte of every message: from the client below 0x80, from the server above. */
export const TERMINAL_FRAME = {
  input: 0x01,
  resize: 0x02,
  ack: 0x03,
  output: 0x81,
  replay_begin: 0x82,
  replay_end: 0x83,
  exit: 0x84,
  error: 0x85,
} as const

/** One `input` message holds at most this many bytes of typing; a longer paste is cut into several. */
export const TERMINAL_INPUT_BYTES_MAX = 65_536

/**
 * The client acknowledges output at the latest when it has rendered this much since its last `ack`. The server
 * stops reading from the shell when far more than this is on its way.
 */
export const TERMINAL_ACK_BYTES = 65_536

/** Why a shell or its socket ended. */
export type TerminalEnd =
  | 'shell_exited'
  | 'stopped'
  | 'instance_stopped'
  | 'idle'
  | 'signed_out'
  | 'too_many_sockets'
  | 'too_many_shells'
  | 'bad_frame'
  | 'failed'
  /** Nothing answers in a virtual machine where its own SSH server would. */
  | 'guest_closed'
  /** That server does not let us in. */
  | 'guest_refused'
  | 'gateway_stopping'
  /** The way to the shell broke; the shell itself may well be there. */
  | 'line_lost'

/**
 * WebSocket close codes. `reconnect` says whether a client may open a new socket (with a new ticket) by itself:
 * never after a deliberate end, or a shell that was left would be replaced by a fresh one.
 */
export const TERMINAL_CLOSE: Record<TerminalEnd, { code: number; reconnect: boolean }> = {
  shell_exited: { code: 4000, reconnect: false },
  stopped: { code: 4001, reconnect: false },
  instance_stopped: { code: 4002, reconnect: false },
  idle: { code: 4003, reconnect: false },
  signed_out: { code: 4004, reconnect: false },
  too_many_sockets: { code: 4005, reconnect: false },
  too_many_shells: { code: 4006, reconnect: false },
  bad_frame: { code: 4007, reconnect: false },
  failed: { code: 4008, reconnect: false },
  gateway_stopping: { code: 1001, reconnect: true },
  line_lost: { code: 4009, reconnect: true },
  guest_closed: { code: 4010, reconnect: false },
  guest_refused: { code: 4011, reconnect: false },
}

/**
 * The end that a close code stands for.
 * @param code Of a WebSocket close event.
 * @returns Null for a code that is not ours, such as 1006 when the network broke: reconnect then.
 */
export function terminalEndOf(code: number): TerminalEnd | null {
  const ends = Object.entries(TERMINAL_CLOSE) as [TerminalEnd, { code: number }][]
  return ends.find(([, close]) => close.code === code)?.[0] ?? null
}

export type TerminalClientFrame =
  | { kind: 'input'; bytes: Uint8Array }
  | { kind: 'resize'; cols: number; rows: number }
  /** Bytes of output rendered since the last `ack`. */
  | { kind: 'ack'; bytes: number }

export type TerminalServerFrame =
  | { kind: 'output'; bytes: Uint8Array }
  | { kind: 'replay_begin' }
  | { kind: 'replay_end' }
  /** The shell ended; the close follows. `code` is the shell's exit code, null when it was ended from outside. */
  | { kind: 'exit'; reason: TerminalEnd; code: number | null }
  /** What went wrong, for people; the close that follows says whether it is final. */
  | { kind: 'error'; reason: TerminalEnd; message: string }

/**
 * Makes a message of the client.
 * @throws RangeError for a size or a length that the protocol does not have.
 */
export function encodeClientFrame(frame: TerminalClientFrame): Uint8Array<ArrayBuffer> {
  switch (frame.kind) {
    case 'input':
      if (frame.bytes.length > TERMINAL_INPUT_BYTES_MAX) throw new RangeError('too long for one input frame')
      return withKind(TERMINAL_FRAME.input, frame.bytes)
    case 'resize': {
      if (!isSize(frame.cols, frame.rows)) throw new RangeError('not a terminal size')
      const bytes = new Uint8Array(5)
      const view = new DataView(bytes.buffer)
      view.setUint8(0, TERMINAL_FRAME.resize)
      view.setUint16(1, frame.cols)
      view.setUint16(3, frame.rows)
      return bytes
    }
    case 'ack': {
      if (!Number.isInteger(frame.bytes) || frame.bytes < 0 || frame.bytes > 0xffff_ffff) {
        throw new RangeError('not a byte count')
      }
      const bytes = new Uint8Array(5)
      const view = new DataView(bytes.buffer)
      view.setUint8(0, TERMINAL_FRAME.ack)
      view.setUint32(1, frame.bytes)
      return bytes
    }
  }
}

/**
 * Reads a message of the client. The input's bytes are a view on the message, not a copy.
 * @returns Null for a message that is none of the protocol: its sender is to be hung up on.
 */
export function decodeClientFrame(message: Uint8Array): TerminalClientFrame | null {
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength)
  switch (message[0]) {
    case TERMINAL_FRAME.input:
      if (message.length - 1 > TERMINAL_INPUT_BYTES_MAX) return null
      return { kind: 'input', bytes: message.subarray(1) }
    case TERMINAL_FRAME.resize: {
      if (message.length !== 5) return null
      const cols = view.getUint16(1)
      const rows = view.getUint16(3)
      return isSize(cols, rows) ? { kind: 'resize', cols, rows } : null
    }
    case TERMINAL_FRAME.ack:
      return message.length === 5 ? { kind: 'ack', bytes: view.getUint32(1) } : null
    default:
      return null
  }
}

/** Makes a message of the server. */
export function encodeServerFrame(frame: TerminalServerFrame): Uint8Array<ArrayBuffer> {
  switch (frame.kind) {
    case 'output':
      return withKind(TERMINAL_FRAME.output, frame.bytes)
    case 'replay_begin':
    case 'replay_end':
      return Uint8Array.of(TERMINAL_FRAME[frame.kind])
    case 'exit':
    case 'error': {
      const { kind, ...rest } = frame
      return withKind(TERMINAL_FRAME[kind], new TextEncoder().encode(JSON.stringify(rest)))
    }
  }
}

/**
 * Reads a message of the server. The output's bytes are a view on the message, not a copy.
 * @returns Null for a message that this version does not know; a client passes over it.
 */
export function decodeServerFrame(message: Uint8Array): TerminalServerFrame | null {
  switch (message[0]) {
    case TERMINAL_FRAME.output:
      return { kind: 'output', bytes: message.subarray(1) }
    case TERMINAL_FRAME.replay_begin:
      return { kind: 'replay_begin' }
    case TERMINAL_FRAME.replay_end:
      return { kind: 'replay_end' }
    case TERMINAL_FRAME.exit: {
      const { reason, code } = parseObject(message.subarray(1))
      if (!isEnd(reason)) return null
      return { kind: 'exit', reason, code: typeof code === 'number' ? code : null }
    }
    case TERMINAL_FRAME.error: {
      const { reason, message: text } = parseObject(message.subarray(1))
      return isEnd(reason) && typeof text === 'string' ? { kind: 'error', reason, message: text } : null
    }
    default:
      return null
  }
}

function withKind(kind: number, payload: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(1 + payload.length)
  bytes[0] = kind
  bytes.set(payload, 1)
  return bytes
}

function isSize(cols: number, rows: number): boolean {
  return isWithin(cols, TERMINAL_COLS_MAX) && isWithin(rows, TERMINAL_ROWS_MAX)
}

function isWithin(value: number, max: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= max
}

function isEnd(value: unknown): value is TerminalEnd {
  return typeof value === 'string' && Object.hasOwn(TERMINAL_CLOSE, value)
}

function parseObject(bytes: Uint8Array): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes))
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
