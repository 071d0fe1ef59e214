import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { holdsPrivateKey } from '@berth/contract/private-key'
import { afterAll, describe, expect, test } from 'vitest'
import { parsePublicKey } from './public-key.ts'
import { oneOfEach } from './public-key-fixture.ts'

/**
 * Goal: what we take, OpenSSH takes, and both print one fingerprint.
 * Method: keys that `ssh-keygen` makes go through our reader; keys that we put together go through `ssh-keygen -l`.
 */

const hasKeygen = spawnSync('ssh-keygen', ['-?']).error === undefined
const WITHOUT = hasKeygen ? '' : ' (skipped: ssh-keygen is not installed, so nothing can be compared with it)'

const folder = mkdtempSync(join(tmpdir(), 'berth-ssh-'))
afterAll(() => rmSync(folder, { recursive: true }))

describe.skipIf(!hasKeygen)(`[R1.7] a key that ssh-keygen makes${WITHOUT}`, () => {
  test.each([
    ['ed25519', []],
    ['ecdsa', ['-b', '256']],
    ['ecdsa', ['-b', '384']],
    ['ecdsa', ['-b', '521']],
    ['rsa', ['-b', '2048']],
    ['rsa', ['-b', '3072']],
  ])('%s %j is taken with its fingerprint, and its private half is known as such', (type, options) => {
    const file = join(folder, `${type}${options.join('')}`)
    execFileSync('ssh-keygen', ['-q', '-t', type, ...options, '-N', '', '-C', 'anna laptop', '-f', file])
    const key = parsePublicKey(readFileSync(`${file}.pub`, 'utf8').trim())
    expect(key).toMatchObject({ comment: 'anna laptop', fingerprint: fingerprintOf(`${file}.pub`).print })
    const privateHalf = readFileSync(file, 'utf8')
    expect(holdsPrivateKey(privateHalf)).toBe(true)
    expect(holdsPrivateKey(privateHalf.split('\n').slice(1, -2).join('\n'))).toBe(true)
  })

  test.each(['PEM', 'PKCS8'])('in %s, under a passphrase too, is known as private', format => {
    for (const passphrase of ['', 'correct horse']) {
      const file = join(folder, `${format}${passphrase.length}`)
      execFileSync('ssh-keygen', [
        '-q',
        '-t',
        'rsa',
        '-b',
        '2048',
        '-m',
        format,
        '-N',
        passphrase,
        '-f',
        file,
      ])
      expect(holdsPrivateKey(readFileSync(file, 'utf8'))).toBe(true)
    }
  })
})

describe.skipIf(!hasKeygen)(`[R1.7] a key that we take is one to ssh-keygen${WITHOUT}`, () => {
  test.each(Object.entries(oneOfEach()))('%s', (type, line) => {
    const file = join(folder, `${type}.pub`)
    const key = parsePublicKey(`${line} anna`)
    writeFileSync(file, `${key.line}\n`)
    const { bits, print } = fingerprintOf(file)
    expect(print).toBe(key.fingerprint)
    if (key.bits !== null) expect(bits).toBe(key.bits)
  })
})

/** What `ssh-keygen -l` prints: bits, fingerprint, comment and kind. */
function fingerprintOf(file: string): { bits: number; print: string } {
  const [bits, print = ''] = execFileSync('ssh-keygen', ['-l', '-f', file], { encoding: 'utf8' }).split(' ')
  return { bits: Number(bits), print }
}
