import { generateKeyPairSync } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { COMMENT_CHARS_MAX, type PublicKey, PublicKeyFault, parsePublicKey } from './public-key.ts'
import { ecPoint, ed25519Bytes, field, lineOf, oneOfEach, positive, rsaFields } from './public-key-fixture.ts'

const LINES = oneOfEach()
const TYPES = Object.keys(LINES)

describe('[R1.7] a public SSH key is taken', () => {
  test.each(TYPES)('%s', type => {
    const key = parsePublicKey(`${LINES[type]} anna@laptop`)
    expect(key).toMatchObject({ type, comment: 'anna@laptop', line: `${LINES[type]} anna@laptop` })
    expect(key.fingerprint).toMatch(/^SHA256:[A-Za-z0-9+/]{43}$/)
    expect(key.bits).toBe(type === 'ssh-rsa' ? 2_048 : null)
  })

  test('without a comment, and with one of several words in any script', () => {
    const line = LINES['ssh-ed25519'] ?? ''
    expect(parsePublicKey(line)).toMatchObject({ comment: '', line })
    expect(parsePublicKey(`${line}  \t 안나의 노트북 (neu) `)).toMatchObject({
      comment: '안나의 노트북 (neu)',
      line: `${line} 안나의 노트북 (neu)`,
    })
  })

  test('RSA with its size, also one that is no power of two', () => {
    expect(parsePublicKey(lineOf('ssh-rsa', rsaFields(3_072))).bits).toBe(3_072)
    expect(parsePublicKey(lineOf('ssh-rsa', rsaFields(2_050))).bits).toBe(2_050)
  })
})

describe('[R1.7] what is no key that we take is refused with the rule that it breaks', () => {
  const ed25519 = ed25519Bytes()
  const good = lineOf('ssh-ed25519', [ed25519])
  const blob = Buffer.from(good.split(' ')[1] ?? '', 'base64')
  const p256 = ecPoint('P-256')
  const [exponent, modulus] = rsaFields(2_048)
  const [, weak] = rsaFields(2_047)
  const pem = generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
  const offCurve = Buffer.from(p256)
  offCurve[64] = (offCurve[64] ?? 0) ^ 1
  const withBlob = (bytes: Buffer) => `ssh-ed25519 ${bytes.toString('base64')}`

  test.each<[string, string, string]>([
    ['nothing', '', 'ssh_key'],
    ['words', 'this is not a key', 'ssh_key'],
    ['a type alone', 'ssh-ed25519', 'ssh_key'],
    ['a key without its type', good.split(' ')[1] ?? '', 'ssh_key'],
    ['options before the type', `command="ls" ${good}`, 'ssh_key'],
    ['a word before the type', `restrict ${good}`, 'ssh_key'],
    ['two lines', `${good}\n${good}`, 'ssh_key'],
    ['two lines, the second a comment', `${good} anna\nssh`, 'ssh_key'],
    ['a line end of Unicode', `${good} anna\u2028ssh`, 'ssh_key'],
    ['a control character', `${good} anna\u0007`, 'ssh_key'],
    ['a mark that turns text around', `${good} anna\u202efdp`, 'ssh_key'],
    ['a comment of a page', `${good} ${'a'.repeat(COMMENT_CHARS_MAX + 1)}`, 'too_long'],
    ['a name of the object', 'constructor AAAA', 'ssh_key'],
    ['base64 that is cut off', good.slice(0, -3), 'ssh_key'],
    ['base64 with another ending', `${good}=`, 'ssh_key'],
    ['the other base64', good.replace(/.$/, '_'), 'ssh_key'],
    ['dss', lineOf('ssh-dss', [modulus]), 'ssh_key_type'],
    ['a certificate', lineOf('ssh-ed25519-cert-v01@openssh.com', [ed25519]), 'ssh_key_type'],
    ['a type of the future', lineOf('ssh-mldsa65', [ed25519]), 'ssh_key_type'],
    ['another type inside', lineOf('ssh-ed25519', [ed25519], 'ssh-rsa'), 'ssh_key'],
    ['a certificate inside', lineOf('ssh-ed25519', [ed25519], 'ssh-ed25519-cert-v01@openssh.com'), 'ssh_key'],
    ['a byte too few', lineOf('ssh-ed25519', [ed25519.subarray(1)]), 'ssh_key'],
    ['a field too many', lineOf('ssh-ed25519', [ed25519, '']), 'ssh_key'],
    ['a byte left over', withBlob(Buffer.concat([blob, Buffer.of(0)])), 'ssh_key'],
    ['a length that leads past the end', withBlob(blob.fill(0xff, 15, 19)), 'ssh_key'],
    ['another curve inside', lineOf('ecdsa-sha2-nistp256', ['nistp384', p256]), 'ssh_key'],
    ['a point of another curve', lineOf('ecdsa-sha2-nistp384', ['nistp384', p256]), 'ssh_key'],
    ['a point off its curve', lineOf('ecdsa-sha2-nistp256', ['nistp256', offCurve]), 'ssh_key'],
    ['a point in short', lineOf('ecdsa-sha2-nistp256', ['nistp256', p256.subarray(0, 33)]), 'ssh_key'],
    ['a short RSA key', lineOf('ssh-rsa', rsaFields(1_024)), 'ssh_key_weak'],
    ['an RSA key short by a bit', lineOf('ssh-rsa', [exponent, weak]), 'ssh_key_weak'],
    ['an RSA key that zeros make long', lineOf('ssh-rsa', [exponent, pad(weak)]), 'ssh_key'],
    ['a huge RSA key', lineOf('ssh-rsa', [exponent, positive(Buffer.alloc(2_049, 0xff))]), 'ssh_key'],
    ['a negative RSA key', lineOf('ssh-rsa', [exponent, modulus.subarray(1)]), 'ssh_key'],
    ['an even RSA key', lineOf('ssh-rsa', [exponent, Buffer.concat([modulus, Buffer.of(0)])]), 'ssh_key'],
    ['an RSA exponent of one', lineOf('ssh-rsa', [Buffer.of(1), modulus]), 'ssh_key'],
    ['an RSA exponent of nothing', lineOf('ssh-rsa', [Buffer.of(), modulus]), 'ssh_key'],
    ['a security key for nothing', lineOf('sk-ssh-ed25519@openssh.com', [ed25519]), 'ssh_key'],
    ['a security key for no text', lineOf('sk-ssh-ed25519@openssh.com', [ed25519, '\n']), 'ssh_key'],
    ['a private key', pem, 'ssh_key_private'],
    ['a private key behind a public one', `${good}\n${pem}`, 'ssh_key_private'],
  ])('%s', (_, text, rule) => {
    expect(outcome(text)).toBe(rule)
  })
})

test('[R1.7] a key with one bit or one field changed is another key or none, never one with the same fingerprint', () => {
  const change = fc.record({ type: fc.constantFrom(...TYPES), at: fc.nat(), bit: fc.nat(7) })
  fc.assert(
    fc.property(change, ({ type, at, bit }) => {
      const line = LINES[type] ?? ''
      const blob = Buffer.from(line.split(' ')[1] ?? '', 'base64')
      const index = at % blob.length
      blob[index] = (blob[index] ?? 0) ^ (1 << bit)
      const result = outcome(`${type} ${blob.toString('base64')}`)
      if (typeof result === 'string') return ['ssh_key', 'ssh_key_weak'].includes(result)
      return result.fingerprint !== parsePublicKey(line).fingerprint
    }),
    { numRuns: 500 },
  )
})

test('[R1.7] any text gives a key or a rule, and a key comes back from its own line', () => {
  const fields = fc.array(fc.uint8Array({ maxLength: 140 }), { maxLength: 4 })
  const odd = fc
    .tuple(fc.constantFrom(...TYPES, 'ssh-dss', ''), fields, fc.string({ unit: 'binary' }))
    .map(([type, list, comment]) => `${lineOf(type, list.map(Buffer.from))} ${comment}`)
  const whole = fc
    .tuple(fc.constantFrom(...TYPES), fc.string({ unit: 'grapheme' }))
    .map(([type, comment]) => `${LINES[type]} ${comment}`)
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), odd, whole), text => {
      const result = outcome(text)
      if (typeof result === 'string') return true
      return !/[\r\n]/.test(result.line) && parsePublicKey(result.line).line === result.line
    }),
    { numRuns: 2_000 },
  )
})

test('a fault holds nothing of the text', () => {
  const secret = field('very secret').toString('base64')
  expect(() => parsePublicKey(`ssh-ed25519 ${secret}`)).toThrow(/^ssh_key$/)
})

/** The key, or the rule that the text breaks. */
function outcome(text: string): PublicKey | string {
  try {
    return parsePublicKey(text)
  } catch (error) {
    if (error instanceof PublicKeyFault) return error.rule
    throw error
  }
}

/** The same number with zeros before it. */
function pad(number: Buffer): Buffer {
  return Buffer.concat([Buffer.alloc(8), number])
}
