import { createHash, type Hash } from 'node:crypto'
import { S3Error } from '../s3-error.ts'
import { S3_LIMITS } from '../s3-limits.ts'
import { CHECKSUM_ALGORITHMS, type ChecksumAlgorithm, checksumHeader, isChecksum } from './checksums.ts'
import { type ChunkSigner, sha256 } from './signature.ts'

/** How the bytes of a body stand in a request, by `x-amz-content-sha256`. */
export type BodyForm =
  /** As they are. `hash` is what they must have, or null where nobody signed it. */
  | { kind: 'plain'; hash: string | null }
  /** In chunks of the protocol's own, each signed or not, with checksums behind them or not. */
  | { kind: 'chunked'; isSigned: boolean; hasTrailer: boolean }

/** A map: what a client sends is a name of none of an object's own parts, such as `constructor`. */
const FORMS: ReadonlyMap<string, BodyForm> = new Map<string, BodyForm>([
  ['UNSIGNED-PAYLOAD', { kind: 'plain', hash: null }],
  ['STREAMING-AWS4-HMAC-SHA256-PAYLOAD', { kind: 'chunked', isSigned: true, hasTrailer: false }],
  ['STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER', { kind: 'chunked', isSigned: true, hasTrailer: true }],
  ['STREAMING-UNSIGNED-PAYLOAD-TRAILER', { kind: 'chunked', isSigned: false, hasTrailer: true }],
])

/** Reads the form of a body. @throws S3Error `InvalidArgument`, or `NotImplemented` for one of other signatures. */
export function readForm(payload: string): BodyForm {
  const form = FORMS.get(payload)
  if (form) return form
  if (/^[0-9a-f]{64}$/.test(payload)) return { kind: 'plain', hash: payload }
  if (payload.startsWith('STREAMING-'))
    throw new S3Error('NotImplemented', { message: `${payload} is not offered here.` })
  const message =
    'x-amz-content-sha256 must be a SHA-256 in hexadecimal, UNSIGNED-PAYLOAD or a form of STREAMING.'
  throw new S3Error('InvalidArgument', { message })
}

export interface BodySource {
  /** The bytes of the request, as they come. */
  pieces: AsyncIterable<Uint8Array>
  form: BodyForm
  /** How many bytes of content it is said to have. */
  length: number
  /** Names of trailers that were announced. */
  trailers: readonly string[]
  /** For chunks that are signed. */
  signer: ChunkSigner | null
  /** Takes the checksums that came behind the bytes. */
  onTrailer(checksum: { algorithm: ChecksumAlgorithm; value: string }): void
}

/**
 * The content of a body, piece by piece. It ends only where the body is what it was said and signed to be; until then
 * nobody may use it.
 * @throws S3Error `IncompleteBody`, `XAmzContentSHA256Mismatch`, `SignatureDoesNotMatch`, `InvalidRequest`,
 *   `MalformedTrailerError`.
 */
export async function* contentOf(source: BodySource): AsyncGenerator<Uint8Array> {
  let came = 0
  const content =
    source.form.kind === 'plain' ? plain(source.pieces, source.form.hash) : chunked(source, source.form)
  for await (const piece of content) {
    came += piece.length
    if (came > source.length) throw new S3Error('IncompleteBody', { message: 'More came than was said.' })
    yield piece
  }
  if (came < source.length) throw new S3Error('IncompleteBody')
}

async function* plain(pieces: AsyncIterable<Uint8Array>, hash: string | null): AsyncGenerator<Uint8Array> {
  const sum = hash === null ? null : createHash('sha256')
  for await (const piece of pieces) {
    sum?.update(piece)
    yield piece
  }
  if (sum && sum.digest('hex') !== hash) throw new S3Error('XAmzContentSHA256Mismatch')
}

/** Reads lines and bytes by turns from what comes in pieces of any length. */
class Reader {
  readonly #pieces: AsyncIterator<Uint8Array>
  #held: Uint8Array = new Uint8Array(0)

  constructor(pieces: AsyncIterable<Uint8Array>) {
    this.#pieces = pieces[Symbol.asyncIterator]()
  }

  /** At least one byte more; null at the end. */
  async #more(): Promise<Uint8Array | null> {
    for (;;) {
      const { value, done } = await this.#pieces.next()
      if (done) return null
      if (value.length > 0) return value
    }
  }

  /** A line without its end, of at most so many bytes; null at the end of all. */
  async line(bytesMax: number): Promise<string | null> {
    for (;;) {
      const at = this.#held.indexOf(LINE_FEED)
      // Its carriage return is not counted.
      if (at > bytesMax + 1 || (at === -1 && this.#held.length > bytesMax + 1))
        throw badChunk('a line is too long')
      if (at !== -1) {
        const line = Buffer.from(this.#held.subarray(0, at)).toString('latin1')
        this.#held = this.#held.subarray(at + 1)
        return line.endsWith('\r') ? line.slice(0, -1) : line
      }
      const more = await this.#more()
      if (!more) {
        if (this.#held.length > 0) throw new S3Error('IncompleteBody')
        return null
      }
      this.#held = this.#held.length === 0 ? more : Buffer.concat([this.#held, more])
    }
  }

  /** Some of the next so many bytes, at least one. @throws S3Error `IncompleteBody`. */
  async some(bytesMax: number): Promise<Uint8Array> {
    if (this.#held.length === 0) {
      const more = await this.#more()
      if (!more) throw new S3Error('IncompleteBody')
      this.#held = more
    }
    const some = this.#held.subarray(0, bytesMax)
    this.#held = this.#held.subarray(some.length)
    return some
  }
}

const LINE_FEED = 0x0a
const badChunk = (why: string) =>
  new S3Error('InvalidRequest', { message: `A chunk of the body cannot be read: ${why}.` })

async function* chunked(
  source: BodySource,
  { isSigned, hasTrailer }: Extract<BodyForm, { kind: 'chunked' }>,
): AsyncGenerator<Uint8Array> {
  const reader = new Reader(source.pieces)
  const signer = isSigned ? source.signer : null
  if (isSigned && !signer) throw new Error('chunks are signed, and nobody checks them')
  for (;;) {
    const { bytes, signature } = readChunkLine(await reader.line(S3_LIMITS.chunkLineBytesMax), isSigned)
    const hash = signer ? createHash('sha256') : null
    yield* chunkOf(reader, bytes, hash)
    if (hash && signer) signer.chunk(hash.digest('hex'), signature)
    if (bytes === 0) break
    if ((await reader.line(0)) !== '') throw badChunk('it is not as long as it says')
  }
  if (hasTrailer) await readTrailers(reader, source, signer)
  else if ((await reader.line(0)) ?? '') throw badChunk('something follows the last one')
  if ((await reader.line(0)) !== null) throw badChunk('something follows the end')
}

async function* chunkOf(reader: Reader, bytes: number, hash: Hash | null): AsyncGenerator<Uint8Array> {
  for (let left = bytes; left > 0; ) {
    const some = await reader.some(left)
    hash?.update(some)
    left -= some.length
    yield some
  }
}

/** Such as `10000;chunk-signature=<64 digits>`, or the length alone. */
function readChunkLine(line: string | null, isSigned: boolean): { bytes: number; signature: string } {
  if (line === null) throw new S3Error('IncompleteBody')
  const [, length = '', signature] =
    /^([0-9a-fA-F]{1,10})(?:;chunk-signature=([0-9a-f]{64}))?$/.exec(line) ?? []
  const bytes = Number.parseInt(length, 16)
  if (!(bytes <= S3_LIMITS.putBytesMax)) throw badChunk('its length is none')
  if (isSigned !== (signature !== undefined)) throw badChunk(isSigned ? 'it is not signed' : 'it is signed')
  return { bytes, signature: signature ?? '' }
}

async function readTrailers(reader: Reader, source: BodySource, signer: ChunkSigner | null): Promise<void> {
  const lines: string[] = []
  const came = new Map<string, string>()
  let signature: string | null = null
  for (let bytes = 0; ; ) {
    const line: string | null = await reader.line(S3_LIMITS.chunkLineBytesMax)
    if (line === null || (line === '' && (signature !== null || !signer || lines.length === 0))) break
    // Signed trailers are set apart from their signature by an empty line.
    if (line === '') continue
    bytes += line.length
    const at = line.indexOf(':')
    const name = line.slice(0, at).trim().toLowerCase()
    if (at < 1 || came.has(name) || bytes > S3_LIMITS.trailerBytesMax)
      throw new S3Error('MalformedTrailerError')
    const value = line.slice(at + 1).trim()
    if (name === 'x-amz-trailer-signature') {
      signature = value
      continue
    }
    came.set(name, value)
    lines.push(`${name}:${value}\n`)
  }
  if (signer) signer.trailer(sha256(lines.join('')), signature ?? '')
  for (const name of source.trailers) if (!came.has(name)) throw new S3Error('MalformedTrailerError')
  for (const [name, value] of came) {
    const algorithm = CHECKSUM_ALGORITHMS.find(each => checksumHeader(each) === name)
    if (!source.trailers.includes(name) || !algorithm) throw new S3Error('MalformedTrailerError')
    if (!isChecksum(algorithm, value)) throw new S3Error('InvalidDigest')
    source.onTrailer({ algorithm, value })
  }
}
