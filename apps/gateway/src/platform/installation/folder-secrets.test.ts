import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openFolderSecrets } from './folder-secrets.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-test-secrets-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

test('secrets are made once, for their owner only, and differ between folders', () => {
  const first = made('a')
  expect(made('a')).toMatchObject({ masterKey: first?.masterKey, databasePassword: first?.databasePassword })
  expect(made('b')?.masterKey).not.toEqual(first?.masterKey)
  expect(first?.masterKey).toHaveLength(32)
  expect(statSync(join(folder, 'a', 'secrets.json')).mode & 0o777).toBe(0o600)
  expect(statSync(join(folder, 'a')).mode & 0o777).toBe(0o700)
  expect(readdirSync(join(folder, 'a'))).toEqual(['secrets.json'])
})

test('where none are needed none are made, but those that are there are read', () => {
  expect(openFolderSecrets(join(folder, 'a'), { make: false })).toBeNull()
  expect(readdirSync(folder)).toEqual([])
  const first = made('a')
  expect(openFolderSecrets(join(folder, 'a'), { make: false })?.masterKey).toEqual(first?.masterKey)
})

test('what the version before kept is handed on, and forgotten when that is said', () => {
  const file = join(folder, 'secrets.json')
  const signing_key = Buffer.alloc(32, 3).toString('base64url')
  const before = { signing_key, database_password: 'x'.repeat(32), installation_id: '0123456789ab' }
  writeFileSync(file, JSON.stringify(before))
  const first = openFolderSecrets(folder, { make: true })
  expect(first?.former).toEqual({ rootKey: new Uint8Array(32).fill(3), installationId: '0123456789ab' })
  expect(openFolderSecrets(folder, { make: true })).toMatchObject({
    former: first?.former,
    masterKey: first?.masterKey,
  })
  first?.forgetFormer()
  expect(openFolderSecrets(folder, { make: true })).toMatchObject({
    former: null,
    masterKey: first?.masterKey,
    databasePassword: before.database_password,
  })
  expect(readFileSync(file, 'utf8')).not.toContain(signing_key)
  expect(readdirSync(folder)).toEqual(['secrets.json'])
})

test('a damaged file is told, never replaced', () => {
  const file = join(folder, 'secrets.json')
  writeFileSync(file, '{"signing_key": ""}')
  expect(() => openFolderSecrets(folder, { make: true })).toThrow(/secrets\.json is damaged/)
  expect(() => openFolderSecrets(folder, { make: false })).toThrow(/secrets\.json is damaged/)
})

function made(name: string) {
  return openFolderSecrets(join(folder, name), { make: true })
}
