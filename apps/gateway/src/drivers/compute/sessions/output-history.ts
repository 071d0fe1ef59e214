import { EscapeTracker } from './escape-tracker.ts'

/** How far apart the places are at which a replay may begin: what a replay may lose of the bytes kept. */
const CHECKPOINT_EVERY_BYTES = 8_192
/** A replay rather begins with a line, if one begins this near. */
const LINE_SEARCH_BYTES = 1_024

/** A place in the output where a fresh terminal can start to read. */
interface Checkpoint {
  /** Counted from the shell's first byte. */
  offset: number
  modePrefix: string
}

/**
 * The last output of a shell, in a ring of fixed size, so that a reload sees the screen again. A replay never
 * begins within a character or an escape sequence, and begins with the modes that were on.
 */
export class OutputHistory {
  private readonly ring: Buffer
  /** Bytes ever written. */
  private written = 0
  private readonly tracker = new EscapeTracker()
  private checkpoints: Checkpoint[] = [{ offset: 0, modePrefix: '' }]
  private nextCheckpoint = CHECKPOINT_EVERY_BYTES
  /** A checkpoint is due and the last text ended a line: the next text is the place. */
  private lineBegins = false

  /** @param bytesMax Size of the ring: taken at once, never more. */
  constructor(bytesMax: number) {
    this.ring = Buffer.alloc(bytesMax)
  }

  /** Whether a full-screen program has the screen now. */
  get alternateScreen(): boolean {
    return this.tracker.alternateScreen
  }

  /** Memory that it takes, in bytes. */
  get bytesHeld(): number {
    return this.ring.length
  }

  append(chunk: Buffer): void {
    this.tracker.feed(chunk, (from, to) => this.markCheckpoint(chunk, from, to))
    const kept = chunk.subarray(Math.max(0, chunk.length - this.ring.length))
    const start = (this.written + chunk.length - kept.length) % this.ring.length
    const atEnd = Math.min(kept.length, this.ring.length - start)
    kept.copy(this.ring, start, 0, atEnd)
    kept.copy(this.ring, 0, atEnd)
    this.written += chunk.length
    const oldest = this.written - this.ring.length
    while (this.checkpoints[0] && this.checkpoints[0].offset < oldest) this.checkpoints.shift()
  }

  /** A copy of what a fresh terminal is to be shown; empty when nothing can be shown safely. */
  replay(): Buffer {
    const from = this.checkpoints[0]
    if (!from || from.offset === this.written) return Buffer.alloc(0)
    const start = from.offset % this.ring.length
    const bytes = this.written - from.offset
    const atEnd = Math.min(bytes, this.ring.length - start)
    return Buffer.concat([
      Buffer.from(from.modePrefix),
      this.ring.subarray(start, start + atEnd),
      this.ring.subarray(0, bytes - atEnd),
    ])
  }

  /** `[from, to)` of the chunk is plain text that comes right after all that was written. */
  private markCheckpoint(chunk: Buffer, from: number, to: number): void {
    for (;;) {
      const due = this.nextCheckpoint - this.written
      const at = this.placeToBegin(chunk, Math.max(from, due), to, due)
      if (at >= to) return
      const offset = this.written + at
      this.checkpoints.push({ offset, modePrefix: this.tracker.modePrefix })
      this.nextCheckpoint = offset + CHECKPOINT_EVERY_BYTES
      this.lineBegins = false
    }
  }

  /** The next line's first byte, or a character's when no line begins near `due`; `to` when it is not here. */
  private placeToBegin(chunk: Buffer, from: number, to: number, due: number): number {
    if (from >= to) return to
    if (this.lineBegins) return from
    const newline = chunk.subarray(from, Math.min(to, from + LINE_SEARCH_BYTES)).indexOf(0x0a)
    if (newline >= 0) {
      this.lineBegins = true
      return from + newline + 1
    }
    return to - due < LINE_SEARCH_BYTES ? to : nextCharacter(chunk, from, to)
  }
}

/** The first byte from `at` on that begins a character in UTF-8; `to` when there is none. */
function nextCharacter(chunk: Buffer, at: number, to: number): number {
  let next = at
  while (next < to && ((chunk[next] ?? 0) & 0xc0) === 0x80) next++
  return next
}
