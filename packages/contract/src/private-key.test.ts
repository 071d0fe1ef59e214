import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { holdsPrivateKey } from './private-key.ts'

const base64 = (text: string | Buffer) => Buffer.from(text).toString('base64')
/** A PEM file without its first and last lines. */
const body = (pem: string) => pem.trim().split('\n').slice(1, -1).join('\n')

const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const ed25519 = generateKeyPairSync('ed25519')
const passphrase = { cipher: 'aes-256-cbc', passphrase: 'x' } as const

const files: [string, string][] = [
  ['RSA, PKCS #1', rsa.privateKey.export({ format: 'pem', type: 'pkcs1' }).toString()],
  ['RSA, PKCS #8', rsa.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()],
  ['EC, SEC 1', ec.privateKey.export({ format: 'pem', type: 'sec1' }).toString()],
  ['EC, PKCS #8', ec.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()],
  ['ed25519, PKCS #8', ed25519.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()],
  [
    'PKCS #8 under a passphrase',
    ed25519.privateKey.export({ format: 'pem', type: 'pkcs8', ...passphrase }).toString(),
  ],
  [
    'OpenSSH',
    `-----BEGIN OPENSSH PRIVATE KEY-----\n${base64('openssh-key-v1\0 and more of it'.repeat(4))}\n-----END OPENSSH PRIVATE KEY-----\n`,
  ],
]

test.each(files)('[R1.7] a private key is known: %s', (_, file) => {
  expect(holdsPrivateKey(file)).toBe(true)
  expect(holdsPrivateKey(file.replaceAll('\n', '\r\n'))).toBe(true)
  // As a field of one line makes of it.
  expect(holdsPrivateKey(file.replaceAll('\n', ' '))).toBe(true)
  expect(holdsPrivateKey(`ssh-ed25519 AAAA me@host\n${file}`)).toBe(true)
  expect(holdsPrivateKey(body(file))).toBe(true)
  expect(holdsPrivateKey(base64(file))).toBe(true)
})

test('[R1.7] so is one of PuTTY, and one of PGP', () => {
  expect(holdsPrivateKey('PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none')).toBe(true)
  expect(holdsPrivateKey('-----BEGIN PGP PRIVATE KEY BLOCK-----')).toBe(true)
})

test('what is public or anything else is not taken for one', () => {
  const texts = [
    '',
    'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8d my private key of the laptop',
    rsa.publicKey.export({ format: 'pem', type: 'pkcs1' }).toString(),
    rsa.publicKey.export({ format: 'pem', type: 'spki' }).toString(),
    body(rsa.publicKey.export({ format: 'pem', type: 'pkcs1' }).toString()),
    body(rsa.publicKey.export({ format: 'pem', type: 'spki' }).toString()),
    'M',
    'BEGIN '.repeat(100_000),
  ]
  expect(texts.filter(holdsPrivateKey)).toEqual([])
})
