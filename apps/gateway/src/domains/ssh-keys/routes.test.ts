import { generateKeyPairSync } from 'node:crypto'
import { SSH_KEYS_PER_USER_MAX } from '@berth/contract/limits'
import { addSshKey, listSshKeys, removeSshKey } from '@berth/contract/ssh-keys'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newCustomer } from '../../../test/open-customers.ts'
import { sendCall } from '../../../test/start-gateway.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import { createTestEvents, type TestEvents } from '../../../test/test-events.ts'
import { startTestServer, type TestServer, TOKENS } from '../../../test/test-server.ts'
import { systemClock } from '../../platform/clock.ts'
import { systemIds } from '../../platform/ids.ts'
import { createLogTo } from '../../platform/log.ts'
import { accountDeleted } from '../identity/events.ts'
import { ed25519Bytes, lineOf } from './public-key-fixture.ts'
import { sshKeysRoutes } from './routes.ts'
import { createSshKeys, type SshKeys } from './ssh-keys.ts'

let database: TestDatabase
let keys: SshKeys
let server: TestServer
let logged = ''
let events: TestEvents

beforeAll(async () => {
  database = await createTestDatabase()
  events = createTestEvents(database.db)
  keys = createSshKeys({
    db: database.db,
    clock: systemClock,
    ids: systemIds,
    events,
    rootKey: Buffer.alloc(32),
  })
  const log = createLogTo({ write: line => (logged += line) }, { level: 'trace' })
  server = await startTestServer(database.db, sshKeysRoutes(keys), { log })
})
afterAll(async () => {
  await server.close(1_000)
  await database.drop()
})

const newLine = (comment = '') => `${lineOf('ssh-ed25519', [ed25519Bytes()])} ${comment}`.trim()
const userOf = (token: string) => TOKENS[token]?.userId ?? ''

async function add(public_key: string, { name = '', token = 'anna' } = {}) {
  const { httpStatus, envelope } = await sendCall(
    server.origin,
    addSshKey,
    { body: { name, public_key } },
    { token },
  )
  return { httpStatus, ...envelope }
}

async function list(token = 'anna') {
  const { envelope } = await sendCall(server.origin, listSshKeys, {}, { token })
  return envelope.status === 'ok' ? envelope.data : []
}

async function remove(id: string, token = 'anna') {
  return (await sendCall(server.origin, removeSshKey, { params: { id } }, { token })).httpStatus
}

test('[R1.7] a key is added, listed with its fingerprint, and removed', async () => {
  const line = newLine('anna@laptop')
  const added = await add(`  ${line}\n`)
  expect(added).toMatchObject({
    status: 'ok',
    data: { name: 'anna@laptop', type: 'ssh-ed25519', bits: null, public_key: line },
  })
  expect(events.told).toContainEqual({
    event: 'ssh-key.added',
    payload: { userId: userOf('anna'), at: expect.any(String), name: 'anna@laptop' },
  })
  const [key] = await list()
  expect(added).toMatchObject({ data: key })
  expect(await list('ben')).toEqual([])
  expect(await remove(key?.id ?? '', 'ben')).toBe(404)
  expect(await remove(key?.id ?? '')).toBe(200)
  expect(await remove(key?.id ?? '')).toBe(404)
  expect(await list()).toEqual([])
})

test('[R1.7] a name is the one given, else the comment cut to its length, else the type', async () => {
  const token = 'ben'
  expect(await add(newLine('a@b'), { name: ' Work ', token })).toMatchObject({ data: { name: 'Work' } })
  expect(await add(newLine('😀'.repeat(40)), { token })).toMatchObject({ data: { name: '😀'.repeat(32) } })
  expect(await add(newLine(), { token })).toMatchObject({ data: { name: 'ssh-ed25519' } })
})

test('whoever has not shown that the address is theirs adds no key that would outlast them', async () => {
  expect(await add(newLine(), { token: 'unverified' })).toMatchObject({ code: 'account_not_activated' })
})

test('[R1.7] a key is there once, whatever its comment; another customer may have it too', async () => {
  const line = newLine()
  expect(await add(line)).toMatchObject({ status: 'ok' })
  expect(await add(`${line} other`)).toMatchObject({
    httpStatus: 400,
    code: 'validation_failed',
    fields: [{ path: 'public_key', rule: 'ssh_key_known' }],
  })
  expect(await add(line, { token: 'ben' })).toMatchObject({ status: 'ok' })
})

test.each([
  ['ssh_key', 'nothing of the kind'],
  ['ssh_key_type', lineOf('ssh-dss', ['x'])],
  ['required', ' '],
  ['too_long', `ssh-rsa ${'A'.repeat(9_000)}`],
])('[R1.7] [R8.1] what is wrong with a key is the rule %s of its field', async (rule, text) => {
  expect(await add(text)).toMatchObject({ httpStatus: 400, fields: [{ path: 'public_key', rule }] })
})

test('[R1.7] a private key is refused, and stands in no row, log or answer', async () => {
  const pems = [
    generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
    // Longer than a public key may be: it is still told that it is private.
    generateKeyPairSync('rsa', { modulusLength: 2_048 })
      .privateKey.export({ format: 'pem', type: 'pkcs1' })
      .toString()
      .repeat(8),
  ]
  for (const pem of pems) {
    const secret = pem.split('\n')[1] ?? ''
    for (const text of [pem, secret.length > 60 ? pem.split('\n').slice(1, 30).join('\n') : pem, btoa(pem)]) {
      const answer = await add(text, { name: 'mine' })
      expect(answer).toMatchObject({
        httpStatus: 400,
        fields: [{ path: 'public_key', rule: 'ssh_key_private' }],
      })
      expect(JSON.stringify(answer)).not.toContain(secret)
    }
    expect(logged).toContain('ssh_key.add')
    expect(logged).not.toContain(secret)
    expect(logged).not.toContain('PRIVATE')
    expect(JSON.stringify(await list())).not.toContain(secret)
  }
})

test('[R1.7] no more keys than the limit are kept, however many come at once', async () => {
  const userId = await newCustomer(database.db)
  const results = await Promise.allSettled(
    Array.from({ length: SSH_KEYS_PER_USER_MAX + 6 }, () =>
      keys.add(userId, { name: '', public_key: newLine() }),
    ),
  )
  const refused = results.filter(result => result.status === 'rejected').map(({ reason }) => reason)
  expect(await keys.list(userId)).toHaveLength(SSH_KEYS_PER_USER_MAX)
  expect(refused).toHaveLength(6)
  for (const error of refused) {
    expect(error).toMatchObject({ code: 'ssh_key_limit', values: { limit: SSH_KEYS_PER_USER_MAX } })
  }
  await events.hear(accountDeleted, { userId })
  expect(await keys.list(userId)).toEqual([])
})
