import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { loadSecrets } from './secrets.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-test-secrets-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

test('secrets are made once, for their owner only, and differ between installations', () => {
  const first = loadSecrets(join(folder, 'a'))
  expect(loadSecrets(join(folder, 'a'))).toEqual(first)
  expect(loadSecrets(join(folder, 'b')).signingKey).not.toEqual(first.signingKey)
  expect(first.signingKey).toHaveLength(32)
  expect(statSync(join(folder, 'a', 'secrets.json')).mode & 0o777).toBe(0o600)
  expect(statSync(join(folder, 'a')).mode & 0o777).toBe(0o700)
  expect(readdirSync(join(folder, 'a'))).toEqual(['secrets.json'])
})

test('a damaged file is told, never replaced', () => {
  const file = join(folder, 'secrets.json')
  writeFileSync(file, '{"signing_key": ""}')
  expect(() => loadSecrets(folder)).toThrow(/secrets\.json is damaged/)
})
