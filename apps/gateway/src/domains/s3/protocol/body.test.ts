import { createHash, createHmac } from 'node:crypto'
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { S3Error } from '../s3-error.ts'
import { type BodySource, contentOf, readForm } from './body.ts'
import { type Claim, createChunkSigner, signingKey } from './signature.ts'

const SECRET = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'
// The request of Amazon's documentation on uploads in signed chunks.
const claim: Claim = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  date: '20130524',
  region: 'us-east-1',
  timestamp: '20130524T000000Z',
  signedHeaders: [],
  signature: '4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9',
  payload: 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD',
  isPresigned: false,
}
const key = signingKey(SECRET, claim)
const CONTENT = 'a'.repeat(65_536 + 1_024)
const SIGNED = [
  '10000;chunk-signature=ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648',
  CONTENT.slice(0, 65_536),
  '400;chunk-signature=0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497',
  CONTENT.slice(65_536),
  '0;chunk-signature=b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9',
  '',
  '',
].join('\r\n')

const sum = (text: string) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(crc32(text))
  return bytes.toString('base64')
}
const TRAILER = 'x-amz-checksum-crc32'
const unsigned = (text: string) =>
  `${text.length.toString(16)}\r\n${text}\r\n0\r\n${TRAILER}:${sum(text)}\r\n\r\n`

async function* inPieces(body: string, bytes: number): AsyncGenerator<Uint8Array> {
  const all = Buffer.from(body, 'latin1')
  for (let at = 0; at < all.length; at += bytes) yield all.subarray(at, at + bytes)
}

test('[R2.25] what names no form of a body is refused, also where it names a part of every object', () => {
  for (const payload of ['constructor', '__proto__', 'toString', '', 'UNSIGNED'])
    expect(() => readForm(payload), payload).toThrow(expect.objectContaining({ code: 'InvalidArgument' }))
})

/** The content of a body, or the code of its refusal. */
async function read(body: string, more: Partial<BodySource> & { payload?: string; piece?: number } = {}) {
  const trailed: unknown[] = []
  const { payload = claim.payload, piece = 1_000, length = CONTENT.length, trailers = [] } = more
  const form = readForm(payload)
  const source: BodySource = {
    pieces: inPieces(body, piece),
    form,
    length,
    trailers,
    signer: form.kind === 'chunked' && form.isSigned ? createChunkSigner(claim, key) : null,
    onTrailer: checksum => trailed.push(checksum),
  }
  try {
    let text = ''
    for await (const some of contentOf(source)) text += Buffer.from(some).toString('latin1')
    return { text, trailed }
  } catch (error) {
    if (error instanceof S3Error) return { code: error.code }
    throw error
  }
}

describe('bodies', () => {
  test('[R2.25] signed chunks of Amazon’s own documentation are right in pieces of any length', async () => {
    for (const piece of [1, 7, 65_536, 1_000_000]) {
      expect((await read(SIGNED, { piece })).text === CONTENT).toBe(true)
    }
  })

  test('[R2.25] signed chunks are refused where a byte is other, or they come in another order', async () => {
    const wrong = (text: string) => read(text).then(({ code }) => code)
    expect(await wrong(SIGNED.replace('aaaa', 'aaab'))).toBe('SignatureDoesNotMatch')
    expect(await wrong(SIGNED.replace('=ad80', '=ad81'))).toBe('SignatureDoesNotMatch')
    expect(await wrong(SIGNED.replace('=b6c6', '=b6c7'))).toBe('SignatureDoesNotMatch')
    expect(await wrong(SIGNED.replace(/;chunk-signature=\w+/, ''))).toBe('InvalidRequest')
    expect(await wrong(`${SIGNED}more\r\n`)).toBe('InvalidRequest')
    // The first chunk alone, and an end that signs only that.
    const [head = '', content = ''] = SIGNED.split('\r\n')
    expect(await wrong(`${head}\r\n${content}\r\n${SIGNED.slice(-86)}`)).toBe('SignatureDoesNotMatch')
  })

  test('[R2.25] a body that ends anywhere before its end, or is not as long as it said, is refused', async () => {
    const text = 'hello world'
    const body = unsigned(text)
    const payload = 'STREAMING-UNSIGNED-PAYLOAD-TRAILER'
    const asked = { payload, length: text.length, trailers: [TRAILER] }
    expect(await read(body, asked)).toEqual({ text, trailed: [{ algorithm: 'crc32', value: sum(text) }] })
    for (let end = 0; end < body.length - 4; end += 1) {
      expect((await read(body.slice(0, end), asked)).code).toBeDefined()
    }
    for (const length of [text.length - 1, text.length + 1]) {
      expect((await read(body, { ...asked, length })).code).toBe('IncompleteBody')
    }
    expect((await read(body, { ...asked, trailers: ['x-amz-checksum-sha1'] })).code).toBe(
      'MalformedTrailerError',
    )
    expect((await read(body, { ...asked, trailers: [] })).code).toBe('MalformedTrailerError')
  })

  test('[R2.25] trailers of signed chunks are signed, too', async () => {
    const payload = 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER'
    const sha = (text: string) => createHash('sha256').update(text).digest('hex')
    const scope = '20130524/us-east-1/s3/aws4_request'
    let before = claim.signature
    const sign = (kind: string, ...hashes: string[]) => {
      const toSign = [`AWS4-HMAC-SHA256-${kind}`, claim.timestamp, scope, before, ...hashes].join('\n')
      before = createHmac('sha256', key).update(toSign).digest('hex')
      return before
    }
    const line = `${TRAILER}:${sum('hello')}`
    const body = [
      `5;chunk-signature=${sign('PAYLOAD', sha(''), sha('hello'))}`,
      'hello',
      `0;chunk-signature=${sign('PAYLOAD', sha(''), sha(''))}`,
      line,
      `x-amz-trailer-signature:${sign('TRAILER', sha(`${line}\n`))}`,
      '',
      '',
    ].join('\r\n')
    const asked = { payload, length: 5, trailers: [TRAILER] }
    expect(await read(body, asked)).toEqual({
      text: 'hello',
      trailed: [{ algorithm: 'crc32', value: sum('hello') }],
    })
    const other = body.replace(sum('hello'), sum('other'))
    expect((await read(other, asked)).code).toBe('SignatureDoesNotMatch')
    const none = body.replace(/x-amz-trailer-signature:\w+\r\n/, '')
    expect((await read(none, asked)).code).toBe('SignatureDoesNotMatch')
  })

  test('[R2.25] whatever comes is content or a refusal', async () => {
    const part = fc.oneof(
      fc.string(),
      fc.constantFrom('\r\n', '0\r\n', '5\r\nhello\r\n', 'ffffffffff\r\n', `${TRAILER}:`),
    )
    const bodies = fc.array(part, { maxLength: 8 }).map(parts => parts.join(''))
    await fc.assert(
      fc.asyncProperty(bodies, fc.integer({ min: 1, max: 9 }), async (body, piece) => {
        const payload = 'STREAMING-UNSIGNED-PAYLOAD-TRAILER'
        const { text, code } = await read(body, { payload, length: 5, piece })
        expect(code !== undefined || text?.length === 5).toBe(true)
      }),
      { numRuns: 300 },
    )
  })
})
