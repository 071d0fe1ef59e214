import { Duplex } from 'node:stream'

/**
 * A stream that came from a machine, read only when it is the machine's turn and only as far as its reader wants it.
 * What nobody has room for stays unread.
 */
export class PacedStream extends Duplex {
  readonly #source: Duplex
  readonly #askTurn: (hand: (bytesMax: number) => number) => void
  readonly #quiet: NodeJS.Timeout
  #wanted = false
  #asked = false

  /**
   * @param source Nothing of it was read. It belongs to this stream from here on.
   * @param quietMs Without a byte in either direction for this long, it is cut.
   * @param askTurn Asks for a turn; what it is given is called once, with how many bytes may be
   *   handed on, and gives how many there were.
   */
  constructor(source: Duplex, quietMs: number, askTurn: (hand: (bytesMax: number) => number) => void) {
    // What was read and is not taken would be a second buffer, counted in bytes where pieces are what costs.
    super({ readableHighWaterMark: 1 })
    this.#source = source
    this.#askTurn = askTurn
    this.#quiet = setTimeout(() => this.destroy(), quietMs)
    this.#quiet.unref()
    source.on('readable', () => this.#look())
    source.once('end', () => this.push(null))
    source.on('error', () => this.destroy())
    source.once('close', () => {
      // What it said last may not be read yet.
      if (!source.readableEnded || this.readableEnded) this.destroy()
      else this.once('end', () => this.destroy())
    })
    if (source.destroyed) this.destroy()
  }

  override _read(): void {
    this.#wanted = true
    this.#look()
  }

  override _write(chunk: Buffer, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#quiet.refresh()
    this.#source.write(chunk, encoding, done)
  }

  override _writev(chunks: { chunk: Buffer; encoding: BufferEncoding }[], done: () => void): void {
    this.#quiet.refresh()
    this.#source.cork()
    chunks.forEach(({ chunk, encoding }, at) => {
      this.#source.write(chunk, encoding, at === chunks.length - 1 ? done : undefined)
    })
    this.#source.uncork()
  }

  override _final(done: () => void): void {
    this.#source.end(() => done())
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#quiet)
    this.#source.destroy()
    done(error)
  }

  #look(): void {
    if (this.destroyed || this.#asked) return
    if (this.#source.readableLength === 0) {
      // It tells its end, or that something came, only to whoever tries to read. Reading takes nothing here: what a source
      // gives at once would be lost.
      this.#source.read(0)
      return
    }
    if (!this.#wanted) return
    this.#asked = true
    this.#askTurn(bytesMax => {
      this.#asked = false
      const piece = this.#source.read(Math.min(bytesMax, this.#source.readableLength)) as Buffer | null
      if (!piece) return 0
      this.#quiet.refresh()
      this.#wanted = false
      this.push(piece)
      return piece.length
    })
  }
}
