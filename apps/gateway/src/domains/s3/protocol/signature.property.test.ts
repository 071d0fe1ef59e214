import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { S3Error } from '../s3-error.ts'
import {
  type Claim,
  canonicalFor,
  encodeUri,
  readClaim,
  type SignedRequest,
  scopeOf,
  sha256,
  signingKey,
  splitQuery,
  verifySignature,
} from './signature.ts'

const SECRET = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'
const ID = 'AKIAIOSFODNN7EXAMPLE'
const NOW = Date.parse('2026-11-23T18:00:00Z')
const TIMESTAMP = '20261123T180000Z'
const REGION = 'us-west'

const scope = { date: TIMESTAMP.slice(0, 8), region: REGION }

/** Signs a request as a client does: written apart from what is tested, but for the canonical form. */
function signed(
  request: Omit<SignedRequest, 'rawHeaders'>,
  more: Record<string, string> = {},
  unsigned: readonly string[] = [],
): SignedRequest {
  const headers: Record<string, string> = {
    host: 's3.example.com',
    'x-amz-content-sha256': 'UNSIGNED-PAYLOAD',
    'x-amz-date': TIMESTAMP,
    ...more,
  }
  const plain = { ...request, rawHeaders: Object.entries(headers).flat() }
  const names = Object.keys(headers)
    .filter(name => !unsigned.includes(name))
    .sort()
  const claim: Claim = {
    accessKeyId: ID,
    ...scope,
    timestamp: TIMESTAMP,
    signedHeaders: names,
    signature: '',
    payload: headers['x-amz-content-sha256'] ?? '',
    isPresigned: false,
  }
  const toSign = ['AWS4-HMAC-SHA256', TIMESTAMP, scopeOf(claim), sha256(canonicalFor(plain, claim))].join(
    '\n',
  )
  const signature = createHmac('sha256', signingKey(SECRET, scope)).update(toSign).digest('hex')
  const authorization = `AWS4-HMAC-SHA256 Credential=${ID}/${scopeOf(claim)}, SignedHeaders=${names.join(';')}, Signature=${signature}`
  return { ...plain, rawHeaders: [...plain.rawHeaders, 'Authorization', authorization] }
}

function verdict(request: SignedRequest, now = NOW, secret = SECRET): string {
  try {
    const claim = readClaim(request, new Map(splitQuery(request.rawQuery)), now)
    verifySignature(request, claim, signingKey(secret, claim))
    return 'right'
  } catch (error) {
    if (error instanceof S3Error) return error.code
    throw error
  }
}

const text = fc.string({ unit: 'grapheme', maxLength: 20 }).filter(each => each.isWellFormed())
const request = fc.record({
  method: fc.constantFrom('GET', 'PUT', 'DELETE'),
  rawPath: text.map(each => `/bucket/${encodeUri(each, '/')}`),
  rawQuery: fc
    .array(fc.tuple(text, text), { maxLength: 4 })
    .map(pairs => pairs.map(([name, value]) => `${encodeUri(`q${name}`)}=${encodeUri(value)}`).join('&')),
})

// The example of Amazon's documentation, so that we do not only agree with ourselves.
test('[R2.25] a request of Amazon’s own documentation is held to its signature', () => {
  const example: SignedRequest = {
    method: 'GET',
    rawPath: '/test.txt',
    rawQuery: '',
    rawHeaders: [
      ...['Host', 'examplebucket.s3.amazonaws.com'],
      ...['Range', 'bytes=0-9'],
      ...['x-amz-content-sha256', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
      ...['x-amz-date', '20130524T000000Z'],
      'Authorization',
      'AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    ],
  }
  const then = Date.parse('2013-05-24T00:00:00Z')
  expect(verdict(example, then)).toBe('right')
  expect(verdict({ ...example, rawPath: '/other.txt' }, then)).toBe('SignatureDoesNotMatch')
})

describe('signatures', () => {
  test('[R2.25] what was signed is right, and wrong as soon as anything of it is other', () => {
    fc.assert(
      fc.property(request, fc.nat(5), (plain, what) => {
        const good = signed(plain, { 'x-amz-meta-a': 'b' })
        expect(verdict(good)).toBe('right')
        const other: SignedRequest[] = [
          { ...good, method: plain.method === 'GET' ? 'PUT' : 'GET' },
          { ...good, rawPath: `${plain.rawPath}x` },
          { ...good, rawQuery: plain.rawQuery === '' ? 'acl=' : `${plain.rawQuery}&acl=` },
          { ...good, rawHeaders: good.rawHeaders.map(each => (each === 's3.example.com' ? 'other' : each)) },
          {
            ...good,
            rawHeaders: good.rawHeaders.map(each => (each === 'UNSIGNED-PAYLOAD' ? sha256('') : each)),
          },
          { ...good, rawHeaders: [...good.rawHeaders, 'x-amz-meta-a', 'c'] },
        ]
        expect(verdict(other[what] as SignedRequest)).toBe('SignatureDoesNotMatch')
        expect(verdict(good, NOW, `${SECRET}x`)).toBe('SignatureDoesNotMatch')
        expect(verdict({ ...good, rawHeaders: [...good.rawHeaders, 'X-Amz-Acl', 'private'] })).toBe(
          'AccessDenied',
        )
      }),
      { numRuns: 60 },
    )
  })

  test('[R2.25] of a header that says anything at all nothing but a refusal comes', () => {
    const part = fc.oneof(
      text,
      fc.constantFrom(ID, 's3', 'aws4_request', REGION, scope.date, 'a'.repeat(64), 'host'),
    )
    const authorization = fc
      .tuple(
        fc.array(part, { maxLength: 6 }),
        fc.array(part, { maxLength: 3 }),
        part,
        fc.constantFrom(',', ', ', ';'),
      )
      .map(([credential, names, signature, comma]) =>
        [
          `Credential=${credential.join('/')}`,
          `SignedHeaders=${names.join(';')}`,
          `Signature=${signature}`,
        ].join(comma),
      )
    fc.assert(
      fc.property(fc.oneof(authorization, text), said => {
        const base = signed({ method: 'GET', rawPath: '/', rawQuery: '' })
        const rawHeaders = [...base.rawHeaders.slice(0, -1), `AWS4-HMAC-SHA256 ${said}`]
        expect(verdict({ ...base, rawHeaders })).not.toBe('right')
      }),
      { numRuns: 300 },
    )
  })

  test('[R2.25] a request is signed for its host, and in one place alone', () => {
    const plain = { method: 'GET', rawPath: '/', rawQuery: '' }
    expect(verdict(signed(plain, {}, ['host']))).toBe('AccessDenied')
    const twice = { ...plain, rawQuery: 'X-Amz-Algorithm=AWS4-HMAC-SHA256' }
    expect(verdict(signed(twice))).toBe('InvalidRequest')
  })

  test('[R2.25] fifteen minutes are too far, in either direction; a time that is none is no time', () => {
    const good = signed({ method: 'GET', rawPath: '/', rawQuery: '' })
    expect(verdict(good, NOW + 899_000)).toBe('right')
    expect(verdict(good, NOW - 899_000)).toBe('right')
    expect(verdict(good, NOW + 901_000)).toBe('RequestTimeTooSkewed')
    expect(verdict(good, NOW - 901_000)).toBe('RequestTimeTooSkewed')
    const none = good.rawHeaders.map(each => (each === TIMESTAMP ? '20261123T250000Z' : each))
    expect(verdict({ ...good, rawHeaders: none })).toBe('AuthorizationHeaderMalformed')
  })

  test('[R2.25] a presigned address is good for its seconds, and no longer than a week', () => {
    const address = (more: Record<string, string>) => {
      const query = {
        'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
        'X-Amz-Credential': `${ID}/${scope.date}/${REGION}/s3/aws4_request`,
        'X-Amz-Date': TIMESTAMP,
        'X-Amz-Expires': '60',
        'X-Amz-SignedHeaders': 'host',
        ...more,
      }
      const rawQuery = Object.entries(query)
        .map(([name, value]) => `${name}=${encodeUri(value)}`)
        .join('&')
      const plain = { method: 'GET', rawPath: '/b/k', rawQuery, rawHeaders: ['Host', 's3.example.com'] }
      const claim = {
        ...scope,
        accessKeyId: ID,
        timestamp: TIMESTAMP,
        signedHeaders: ['host'],
        signature: '',
        isPresigned: true,
      }
      const canonical = canonicalFor(plain, { ...claim, payload: 'UNSIGNED-PAYLOAD' })
      const toSign = ['AWS4-HMAC-SHA256', TIMESTAMP, scopeOf(scope), sha256(canonical)].join('\n')
      const signature = createHmac('sha256', signingKey(SECRET, scope)).update(toSign).digest('hex')
      return { ...plain, rawQuery: `${rawQuery}&X-Amz-Signature=${signature}` }
    }
    expect(verdict(address({}), NOW + 60_000)).toBe('right')
    expect(verdict(address({}), NOW + 61_000)).toBe('AccessDenied')
    expect(verdict(address({}), NOW - 901_000)).toBe('AccessDenied')
    expect(verdict(address({ 'X-Amz-Expires': '604800' }), NOW + 604_800_000)).toBe('right')
    for (const seconds of ['604801', '0', '-1', '1e3', '']) {
      expect(verdict(address({ 'X-Amz-Expires': seconds }))).toBe('AuthorizationQueryParametersError')
    }
    // Sessions are not given here, so none is good.
    expect(verdict(address({ 'X-Amz-Security-Token': 'any' }))).toBe('ExpiredToken')
    const longer = address({}).rawQuery.replace('Expires=60', 'Expires=600')
    expect(verdict({ ...address({}), rawQuery: longer })).toBe('SignatureDoesNotMatch')
  })
})
