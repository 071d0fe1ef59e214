import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { S3Error } from '../s3-error.ts'
import { S3_LIMITS } from '../s3-limits.ts'
import { contentOf, readForm } from './body.ts'
import {
  CHECKSUM_ALGORITHMS,
  type ChecksumAlgorithm,
  checksumHeader,
  createChecksum,
  isChecksum,
  readAlgorithm,
} from './checksums.ts'
import { atLeastRate } from './least-rate.ts'
import { headerOf, type SignedS3Request } from './s3-request.ts'
import { createChunkSigner } from './signature.ts'
import { writeGathered } from './write-gathered.ts'

/** What came, and what it is by all that was asked for. */
export interface Received {
  bytes: number
  /** MD5 in hexadecimal. */
  md5: string
  /** Of the one algorithm that the client named, or of those that were wanted. */
  checksums: Partial<Record<ChecksumAlgorithm, string>>
}

/** What a request says of its body. */
interface Announced {
  length: number
  trailers: readonly string[]
  md5: Buffer | null
  checksum: { algorithm: ChecksumAlgorithm; value: string | null } | null
}

/** How many bytes of content a request is said to bring. @throws S3Error `MissingContentLength`. */
export function readLength(request: SignedS3Request): number {
  const isChunked = readForm(request.claim.payload).kind === 'chunked'
  const length = headerOf(request, isChunked ? 'x-amz-decoded-content-length' : 'content-length')
  if (length === null || !/^\d{1,16}$/.test(length)) throw new S3Error('MissingContentLength')
  return Number(length)
}

/** @param isOfObject Whether checksums in the head are of an object that the body tells of, and not of the body. */
function readAnnounced(request: SignedS3Request, isOfObject: boolean): Announced {
  const form = readForm(request.claim.payload)
  const length = readLength(request)
  const trailers = (headerOf(request, 'x-amz-trailer') ?? '')
    .split(',')
    .map(name => name.trim().toLowerCase())
    .filter(name => name !== '')
  if (trailers.length > 0 && !(form.kind === 'chunked' && form.hasTrailer))
    throw new S3Error('MalformedTrailerError')
  const md5 = headerOf(request, 'content-md5')
  const named = checksumsOf(request, { trailers, isOfObject })
  if (named.length > 1) {
    throw new S3Error('InvalidRequest', { message: 'One checksum may be named, and there are several.' })
  }
  return {
    length,
    trailers,
    md5: md5 === null ? null : readMd5(md5),
    checksum: named[0] ?? null,
  }
}

function checksumsOf(
  request: SignedS3Request,
  { trailers, isOfObject }: { trailers: readonly string[]; isOfObject: boolean },
) {
  const named: { algorithm: ChecksumAlgorithm; value: string | null }[] = []
  for (const algorithm of CHECKSUM_ALGORITHMS) {
    const value = isOfObject ? null : headerOf(request, checksumHeader(algorithm))
    if (value !== null && !isChecksum(algorithm, value)) throw new S3Error('InvalidDigest')
    if (value !== null) named.push({ algorithm, value })
    if (trailers.includes(checksumHeader(algorithm))) named.push({ algorithm, value: null })
  }
  return named
}

function readMd5(text: string): Buffer {
  const md5 = Buffer.from(text, 'base64')
  if (!/^[A-Za-z0-9+/]{22}==$/.test(text) || md5.length !== 16) throw new S3Error('InvalidDigest')
  return md5
}

/**
 * Takes the body of a request, and holds it to everything that the request says of it.
 * @param take Gets the content piece by piece, before it is known whether it is right.
 * @param options.wanted Algorithms that are wanted whatever the client names.
 * @param options.isHurried Whether it is given up where it trickles.
 * @param options.isOfObject Whether checksums in the head are of an object that the body tells of: they are not looked at.
 * @throws S3Error for a body that is not what was said.
 */
export async function receive(
  request: SignedS3Request,
  take: (content: AsyncIterable<Uint8Array>) => Promise<{ md5: string; bytes: number }>,
  {
    bytesMax,
    wanted = [],
    isHurried = false,
    isOfObject = false,
  }: {
    bytesMax: number
    wanted?: readonly ChecksumAlgorithm[]
    isHurried?: boolean
    isOfObject?: boolean
  },
): Promise<Received> {
  const announced = readAnnounced(request, isOfObject)
  if (announced.length > bytesMax) throw new S3Error('EntityTooLarge')
  greet(request)
  const form = readForm(request.claim.payload)
  const algorithms = new Set(wanted)
  if (announced.checksum) algorithms.add(announced.checksum.algorithm)
  const sums = [...algorithms].map(algorithm => ({ algorithm, sum: createChecksum(algorithm) }))
  let trailed: { algorithm: ChecksumAlgorithm; value: string } | null = null
  const content = contentOf({
    pieces: isHurried ? atLeastRate(request.incoming) : request.incoming,
    form,
    length: announced.length,
    trailers: announced.trailers,
    signer:
      form.kind === 'chunked' && form.isSigned
        ? createChunkSigner(request.claim, request.known.signingKey)
        : null,
    onTrailer: checksum => {
      trailed = checksum
    },
  })
  const { md5, bytes } = await take(sums.length === 0 ? content : summed(content, sums))
  if (announced.md5 && announced.md5.toString('hex') !== md5) throw new S3Error('BadDigest')
  const checksums: Partial<Record<ChecksumAlgorithm, string>> = {}
  for (const { algorithm, sum } of sums) checksums[algorithm] = await sum.digest()
  const { checksum } = announced
  const expected = checksum && (checksum.value ?? (trailed as { value: string } | null)?.value)
  if (checksum && checksums[checksum.algorithm] !== expected) throw new S3Error('BadDigest')
  return { bytes, md5, checksums }
}

/** Who waits to be told to go on is told so: nothing of the head is wrong. */
function greet({ incoming, response }: SignedS3Request): void {
  if (incoming.headers.expect?.toLowerCase() === '100-continue') response.writeContinue()
}

async function* summed(
  content: AsyncIterable<Uint8Array>,
  sums: readonly { sum: { update(bytes: Uint8Array): void } }[],
): AsyncGenerator<Uint8Array> {
  for await (const piece of content) {
    for (const { sum } of sums) sum.update(piece)
    yield piece
  }
}

/** Takes the body into a file. @throws S3Error. */
export function receiveInto(
  request: SignedS3Request,
  file: FileHandle,
  options: { bytesMax: number; wanted?: readonly ChecksumAlgorithm[] },
): Promise<Received> {
  return receive(request, content => writeGathered(file, content), options)
}

/** Takes a small body whole, such as a document. @throws S3Error `MaxMessageLengthExceeded`. */
export async function receiveText(
  request: SignedS3Request,
  options: { isHurried?: boolean; isOfObject?: boolean } = {},
): Promise<string> {
  const pieces: Uint8Array[] = []
  const take = async (content: AsyncIterable<Uint8Array>) => {
    const hash = createHash('md5')
    let bytes = 0
    for await (const piece of content) {
      bytes += piece.length
      hash.update(piece)
      pieces.push(Uint8Array.from(piece))
    }
    return { md5: hash.digest('hex'), bytes }
  }
  await receive(request, take, { bytesMax: S3_LIMITS.xmlBytesMax, ...options }).catch(error => {
    if (error instanceof S3Error && error.code === 'EntityTooLarge')
      throw new S3Error('MaxMessageLengthExceeded')
    throw error
  })
  return Buffer.concat(pieces).toString('utf8')
}

/** The algorithm that a client wants its upload checked by, without a value; null where it names none. */
export function algorithmWanted(request: SignedS3Request): ChecksumAlgorithm | null {
  const name =
    headerOf(request, 'x-amz-checksum-algorithm') ?? headerOf(request, 'x-amz-sdk-checksum-algorithm')
  return name === null ? null : readAlgorithm(name)
}
