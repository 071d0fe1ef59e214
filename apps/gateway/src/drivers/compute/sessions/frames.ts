/**
 * Frames: how a gateway speaks with what keeps the shells of machines, which is the agent inside a sandbox and the
 * keeper beside a Docker Engine, over one stream for each conversation. A frame is one type byte, four bytes of payload
 * length (big endian), the payload.
 *
 * The gateway speaks first with one `request` frame (JSON). The other side answers `ok` or `error` (JSON, see
 * `Failure`), and then, by request:
 *  - `attach`: a console's line. The gateway sends `data` (typing), `resize` and `ack`. It gets `replay_begin`, `data`…,
 *    `replay_end`, then `data` as it comes, and at last one `exit` (JSON, see `SessionEnd`). A line that ends without
 *    one is lost, not its shell.
 *  - `sessions`, `close_session`: nothing more.
 *  - `run`: a program's line. The gateway sends `data` (the program's input), `eof`, `resize` and `signal`. It gets `data`
 *    and `stderr`, and at last one `exit` (JSON, see `ProgramEnd`). A line that ends without one is lost.
 *  - `udp`: both sides send `datagram`, until either ends the stream.
 *  - what else a peer understands: see `sandbox/agent/requests.ts`.
 *
 * One stream for each conversation means that its own buffers are the flow control of typing: whoever does not read
 * stops only whom it talks to. Output has acknowledgements besides, since it may cross several streams on its way to
 * the eye that it is for.
 */
export const FRAME = {
  request: 1,
  ok: 2,
  error: 3,
  data: 4,
  stderr: 5,
  exit: 6,
  /** Columns and rows, two bytes each. */
  resize: 7,
  /** Bytes of output that were rendered since the last one, four bytes; none of them is a sign of life. */
  ack: 8,
  /** A viewer is to clear its screen: what comes until `replay_end` it may have seen. */
  replay_begin: 9,
  replay_end: 10,
  /** Nothing more is typed to a program: its input ends. */
  eof: 11,
  /** The name of a signal for a program, without its `SIG`. */
  signal: 12,
  /** One datagram, whole. */
  datagram: 13,
} as const

/** Names that a session may have. */
export const SESSION_NAME = /^[a-z0-9][a-z0-9-]{0,39}$/

/** What is asked of whatever keeps shells. */
export type SessionRequest =
  | { op: 'attach'; session: string; cols: number; rows: number; env: Record<string, string> }
  | { op: 'sessions' }
  | { op: 'close_session'; session: string }

/** How a program is run. */
export interface RunRequest {
  op: 'run'
  /** A line for the machine's shell; null for a shell that reads its lines from the input. */
  command: string | null
  env: Record<string, string>
  /** The terminal that it has; null for none: then its two outputs are apart. */
  pty: { cols: number; rows: number } | null
}

/** How a program ended: by its code, or by the signal of that name, without `SIG`. Both null where nobody knows. */
export interface ProgramEnd {
  code: number | null
  signal: string | null
}

/** Why a line ended in good order. */
export interface SessionEnd {
  reason: 'exited' | 'closed' | 'idle' | 'too_many_viewers' | 'too_many_sessions'
  /** The shell's exit code, where it exited and that is known. */
  code: number | null
}

/** What `error` frames hold. */
export interface Failure {
  code: string
  message: string
}

const FRAME_HEADER_BYTES = 5

/**
 * Longest frame that is gathered in memory: far above what requests and answers have. Each piece that comes is joined to
 * those before it, so it also bounds how much is copied for a peer that sends byte by byte. `data` and `stderr` are
 * handed on in pieces and may be longer.
 */
export const FRAME_GATHERED_BYTES_MAX = 64 * 1024

/** Makes one frame ready to write. */
export function encodeFrame(type: number, payload: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(FRAME_HEADER_BYTES + payload.length)
  frame.writeUInt8(type, 0)
  frame.writeUInt32BE(payload.length, 1)
  frame.set(payload, FRAME_HEADER_BYTES)
  return frame
}

/** The head of a frame whose payload is written behind it as it is: for long ones, which are not copied. */
export function encodeHead(type: number, bytes: number): Buffer {
  const head = Buffer.allocUnsafe(FRAME_HEADER_BYTES)
  head.writeUInt8(type, 0)
  head.writeUInt32BE(bytes, 1)
  return head
}

/** Makes one frame of many chunks with a single copy. */
export function encodeChunks(type: number, chunks: Buffer[], bytes: number): Buffer {
  const frame = Buffer.allocUnsafe(FRAME_HEADER_BYTES + bytes)
  frame.writeUInt8(type, 0)
  frame.writeUInt32BE(bytes, 1)
  let at = FRAME_HEADER_BYTES
  for (const chunk of chunks) {
    frame.set(chunk, at)
    at += chunk.length
  }
  return frame
}

/** Makes one frame that holds JSON. */
export function encodeJson(type: number, value: unknown): Buffer {
  return encodeFrame(type, Buffer.from(JSON.stringify(value)))
}

/**
 * Cuts a byte stream into frames. `data` and `stderr` payloads are handed on as they come, in pieces and
 * without a copy, and are never empty; the others are gathered whole. `onFrame` may call `hold()` to stop being called: what has
 * arrived is kept (at most one socket read) until `release()`.
 */
export class FrameReader {
  private readonly onFrame: (type: number, payload: Buffer) => void
  private pending: Buffer = Buffer.alloc(0)
  private type = 0
  private left = -1
  private held = false

  constructor(onFrame: (type: number, payload: Buffer) => void) {
    this.onFrame = onFrame
  }

  get isHeld(): boolean {
    return this.held
  }

  hold(): void {
    this.held = true
  }

  release(): void {
    this.held = false
    this.push(Buffer.alloc(0))
  }

  /** Bytes that arrived and are not handed on yet. */
  takeRest(): Buffer {
    const rest = this.pending
    this.pending = Buffer.alloc(0)
    return rest
  }

  /** Takes bytes off the socket. Throws when a peer announces a frame that is past the limit, or data that is none. */
  push(chunk: Buffer): void {
    let rest = this.pending.length === 0 ? chunk : Buffer.concat([this.pending, chunk])
    while (!this.held) {
      if (this.left < 0) {
        if (rest.length < FRAME_HEADER_BYTES) break
        this.type = rest.readUInt8(0)
        this.left = rest.readUInt32BE(1)
        rest = rest.subarray(FRAME_HEADER_BYTES)
        if (!isStreamed(this.type) && this.left > FRAME_GATHERED_BYTES_MAX) {
          throw new Error(`a frame of ${this.left} bytes is past the limit`)
        }
        // Nobody would hear of it, so nobody could hold it against the peer that it sends them without an end.
        if (isStreamed(this.type) && this.left === 0) throw new Error('a frame of no data')
      }
      if (isStreamed(this.type)) {
        if (rest.length === 0) break
        const piece = rest.subarray(0, this.left)
        rest = rest.subarray(piece.length)
        this.left -= piece.length
        if (this.left === 0) this.left = -1
        this.onFrame(this.type, piece)
      } else {
        if (rest.length < this.left) break
        const payload = rest.subarray(0, this.left)
        rest = rest.subarray(this.left)
        this.left = -1
        this.pending = rest
        this.onFrame(this.type, payload)
        rest = this.pending
      }
    }
    this.pending = rest
  }
}

function isStreamed(type: number): boolean {
  return type === FRAME.data || type === FRAME.stderr
}
