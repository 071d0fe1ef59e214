/**
 * The words that the gateway and the agent inside a sandbox say to each other, over one unix stream socket
 * for each conversation. A frame is one type byte, four bytes of payload length (big endian), the payload.
 *
 * The gateway speaks first with one `request` frame (JSON, see `AgentRequest`). The agent answers `ok` or
 * `error` (JSON), and then, by request:
 *  - `hello`, `stats`, `stop`: nothing more.
 *  - `watch`: nothing more; the socket stays open for as long as the machine lives.
 *  - `exec`: `data` and `stderr` frames, then one `exit` frame.
 *  - `pty`: `data` frames, then one `exit` frame; the gateway sends `data`, `resize` and `kill`.
 *  - `connect`: no more frames at all: the socket now carries the port's bytes, both ways.
 *
 * One socket for each conversation means that the kernel's own socket buffers are the flow control: whoever
 * does not read stops only the program it talks to.
 */
export const FRAME = { request: 1, ok: 2, error: 3, data: 4, stderr: 5, exit: 6, resize: 7, kill: 8 } as const

/** Raised when the words change, so that a gateway knows a machine that an older one started. */
export const AGENT_PROTOCOL = 1

const FRAME_HEADER_BYTES = 5

/** Longest frame that is gathered in memory. `data` and `stderr` are handed on in pieces and may be longer. */
export const FRAME_GATHERED_BYTES_MAX = 1024 * 1024

export type AgentRequest =
  | { op: 'hello' }
  | { op: 'watch' }
  | { op: 'stats' }
  | { op: 'stop'; grace_ms: number }
  | { op: 'connect'; port: number }
  | { op: 'exec'; argv: string[]; timeout_ms: number; output_bytes_max: number }
  | { op: 'pty'; cols: number; rows: number; env: Record<string, string> }

/** What `error` frames hold. */
export interface AgentFailure {
  code: 'port_closed' | 'exhausted' | 'failed'
  message: string
}

/** What the agent answers to `stats`: sums over every process of the machine. */
export interface AgentStats {
  cpu_ms: number
  memory_bytes: number
  disk_bytes: number | null
}

/** What the agent is told at start, in a file that only it and the machine can read. */
export interface AgentMachine {
  command: string[] | null
  env: Record<string, string>
}

/** Makes one frame ready to write. */
export function encodeFrame(type: number, payload: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(FRAME_HEADER_BYTES + payload.length)
  frame.writeUInt8(type, 0)
  frame.writeUInt32BE(payload.length, 1)
  frame.set(payload, FRAME_HEADER_BYTES)
  return frame
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
 * without a copy; the others are gathered whole. `onFrame` may call `hold()` to stop being called: what has
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

  /** Takes bytes off the socket. Throws when a peer announces a frame that is past the limit. */
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
      }
      if (isStreamed(this.type)) {
        if (rest.length === 0 && this.left > 0) break
        const piece = rest.subarray(0, this.left)
        rest = rest.subarray(piece.length)
        this.left -= piece.length
        if (this.left === 0) this.left = -1
        if (piece.length > 0) this.onFrame(this.type, piece)
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
