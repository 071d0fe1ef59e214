import { Duplex } from 'node:stream'
import { createDemuxer } from './docker-exec.ts'
import { RELAY_PIECE_BYTES_MAX } from './relay-script.ts'

const LENGTH_BYTES = 4
const END = Buffer.alloc(LENGTH_BYTES)

/**
 * The gateway's end of one connection that a relay makes: words first, and then what goes over the connection. Nothing is
 * read ahead of its reader but what had come with what it wanted.
 */
export class RelayLine extends Duplex {
  readonly #source: Duplex
  #length = Buffer.alloc(0)
  #left = 0
  #word: Buffer | null = Buffer.alloc(0)
  #told: ((word: string | null) => void) | null = null
  #waiting: string[] = []
  #isEnded = false

  /** @param source The stream of an exec, of which nothing was read. It belongs to this one from here on. */
  constructor(source: Duplex) {
    super()
    this.#source = source
    const demux = createDemuxer((_, piece) => this.#take(piece))
    source.on('data', chunk => {
      try {
        demux(chunk)
      } catch {
        this.destroy()
      }
    })
    source.on('error', () => this.destroy())
    source.once('end', () => this.#broken())
    source.once('close', () => this.#broken())
  }

  /**
   * The next word that the relay says, or null where the line broke or it said none in time. One at a time.
   * @param timeoutMs A line on which nothing is said by then is ended.
   */
  word(timeoutMs: number): Promise<string | null> {
    const waiting = this.#waiting.shift()
    if (waiting !== undefined) return Promise.resolve(waiting)
    if (this.destroyed) return Promise.resolve(null)
    return new Promise(resolve => {
      const timer = setTimeout(() => this.destroy(), timeoutMs)
      this.#told = word => {
        clearTimeout(timer)
        this.#told = null
        resolve(word)
      }
    })
  }

  /** Tells the relay something, and takes its next word for its last one: what comes behind it is the connection's. */
  ask(asked: string, timeoutMs: number): Promise<string | null> {
    this.#source.write(framed(Buffer.from(asked)))
    return this.word(timeoutMs)
  }

  override _read(): void {
    this.#source.resume()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#source.cork()
    for (let at = 0; at < chunk.length; at += RELAY_PIECE_BYTES_MAX) {
      const isLast = at + RELAY_PIECE_BYTES_MAX >= chunk.length
      this.#source.write(
        framed(chunk.subarray(at, at + RELAY_PIECE_BYTES_MAX)),
        isLast ? () => done() : undefined,
      )
    }
    // An empty piece would say that all has been said.
    if (chunk.length === 0) done()
    this.#source.uncork()
  }

  override _final(done: () => void): void {
    this.#source.write(END, () => done())
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#source.destroy()
    this.#told?.(null)
    done(error)
  }

  /** A line that breaks cuts the connection; what came before its other side had finished is read all the same. */
  #broken(): void {
    if (this.#isEnded && !this.readableEnded) this.once('end', () => this.destroy())
    else this.destroy()
  }

  #end(): void {
    this.#isEnded = true
    this.push(null)
  }

  #take(piece: Buffer): void {
    let rest = piece
    while (rest.length > 0) {
      if (this.#left === 0) {
        const lacking = LENGTH_BYTES - this.#length.length
        this.#length = Buffer.concat([this.#length, rest.subarray(0, lacking)])
        rest = rest.subarray(lacking)
        if (this.#length.length < LENGTH_BYTES) return
        this.#left = this.#length.readUInt32BE()
        this.#length = Buffer.alloc(0)
        if (this.#left > RELAY_PIECE_BYTES_MAX) throw new Error('a relay sends a longer piece than it may')
        if (this.#left === 0) this.#end()
        continue
      }
      const part = rest.subarray(0, this.#left)
      this.#left -= part.length
      rest = rest.subarray(part.length)
      if (this.#word === null) {
        if (!this.push(part)) this.#source.pause()
        continue
      }
      this.#word = Buffer.concat([this.#word, part])
      if (this.#left === 0) this.#say(this.#word.toString())
    }
  }

  #say(word: string): void {
    // The last of the words; a relay says nothing else before it has been asked.
    this.#word = word === 'ready' ? Buffer.alloc(0) : null
    if (this.#told) this.#told(word)
    else this.#waiting.push(word)
  }
}

function framed(bytes: Buffer): Buffer {
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}
