import { randomBytes } from 'node:crypto'
import { COOKIE_MAX_AGE_S } from '@berth/contract/limits'
import { eq } from 'drizzle-orm'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import { createAccessTokens } from '../../domains/identity/sessions/access-token.ts'
import { systemClock } from '../clock.ts'
import { systemIds } from '../ids.ts'
import { deriveKey } from '../secrets.ts'
import { createKeptSecrets } from './kept-secrets.ts'
import { keptSecret } from './tables.ts'
import { fixedTokenKeys } from './token-keys.ts'

const MASTER = new Uint8Array(32).fill(1)
const OTHER_MASTER = new Uint8Array(32).fill(2)
const FORMER = { rootKey: Buffer.alloc(32, 3), installationId: '0123456789ab' }
const PATIENCE = { interval: 50 }

let database: TestDatabase
beforeEach(async () => {
  database = await createTestDatabase()
})
afterEach(() => database.drop())

test('gateways that start together on an empty database have the same secrets', async () => {
  const loaded = await Promise.all(Array.from({ length: 5 }, () => under([MASTER]).load(null)))
  expect(new Set(loaded.map(({ rootKey }) => Buffer.from(rootKey).toString('hex'))).size).toBe(1)
  expect(new Set(loaded.map(({ installationId }) => installationId)).size).toBe(1)
  expect(loaded[0]?.installationId).toMatch(/^[0-9a-f]{12}$/)
})

test('what stands in the database tells nothing, and opens with the right key and at its own place only', async () => {
  const { rootKey } = await under([MASTER]).load(null)
  const rows = await database.db.select().from(keptSecret)
  expect(rows.map(({ purpose }) => purpose).sort()).toEqual(['installation', 'root', 'token'])
  for (const { box } of rows) expect(box.includes(Buffer.from(rootKey))).toBe(false)
  await expect(under([OTHER_MASTER]).load(null)).rejects.toThrow('BERTH_MASTER_KEY')
  const name = rows.find(({ id }) => id === 'installation')
  await database.db
    .update(keptSecret)
    .set({ box: name?.box as Buffer })
    .where(eq(keptSecret.id, 'root'))
  await expect(under([MASTER]).load(null)).rejects.toThrow()
})

test('a master key is changed: the former one opens once more, and is of no use afterwards', async () => {
  const first = await under([MASTER]).load(null)
  expect(await under([OTHER_MASTER, MASTER]).load(null)).toEqual(first)
  expect(await under([OTHER_MASTER]).load(null)).toEqual(first)
  await expect(under([MASTER]).load(null)).rejects.toThrow('BERTH_MASTER_KEY_FORMER')
})

test('a database of the version before waits for its data folder, and then nobody is signed out', async () => {
  await database.db.insert(keptSecret).values({
    id: 'root',
    purpose: 'awaited',
    box: Buffer.alloc(0),
    keyId: '',
    createdAt: systemClock.now(),
  })
  await expect(under([MASTER]).load(null)).rejects.toThrow('BERTH_DATA_DIR')
  const before = createAccessTokens({
    keys: fixedTokenKeys(deriveKey(FORMER.rootKey, 'berth access token')),
    clock: systemClock,
  })
  const token = await before.issue(subject())
  expect(await under([MASTER]).load(FORMER)).toMatchObject({ ...FORMER, tookOver: true })
  // The start before ended before it could clear the folder.
  expect(await under([MASTER]).load(FORMER)).toMatchObject({ ...FORMER, tookOver: false })
  const keys = await under([MASTER]).followTokenKeys(database.listen)
  expect(await createAccessTokens({ keys, clock: systemClock }).verify(token)).not.toBeNull()
  expect(await createAccessTokens({ keys, clock: systemClock }).verify(withoutKeyName(token))).toBeNull()
})

test('a data folder of another installation is not taken for this one’s', async () => {
  await under([MASTER]).load(null)
  await expect(under([MASTER]).load(FORMER)).rejects.toThrow('another database')
})

test('a token key is replaced: the others hear of it, and tokens of both are good', async () => {
  const kept = under([MASTER])
  await kept.load(null)
  const [here, there] = await Promise.all([tokensOf(kept), tokensOf(under([MASTER]))])
  const old = await here.tokens.issue(subject())
  let changes = 0
  there.keys.onChange(() => void changes++)
  const id = await kept.replaceTokenKey({ atOnce: false })
  await expect.poll(() => [here.keys.signing().id, there.keys.signing().id], PATIENCE).toEqual([id, id])
  expect(changes).toBeGreaterThan(0)
  const young = await there.tokens.issue(subject())
  for (const { tokens } of [here, there, await tokensOf(under([MASTER]))]) {
    expect(await tokens.verify(old)).not.toBeNull()
    expect(await tokens.verify(young)).not.toBeNull()
  }
})

test('a token key is replaced at once: tokens of those before are worthless', async () => {
  const kept = under([MASTER])
  await kept.load(null)
  const { tokens, keys } = await tokensOf(under([MASTER]))
  const oldest = await tokens.issue(subject())
  const between = await kept.replaceTokenKey({ atOnce: false })
  await expect.poll(() => keys.signing().id, PATIENCE).toBe(between)
  const old = await tokens.issue(subject())
  const id = await kept.replaceTokenKey({ atOnce: true })
  await expect.poll(() => keys.signing().id, PATIENCE).toBe(id)
  expect(await tokens.verify(oldest)).toBeNull()
  expect(await tokens.verify(old)).toBeNull()
  expect(await tokens.verify(await tokens.issue(subject()))).not.toBeNull()
})

test('a replaced token key is believed no longer than its tokens last, also by a gateway that runs all the while', async () => {
  const kept = under([MASTER])
  await kept.load(null)
  let now = Date.now()
  const clock = { now: () => new Date(now) }
  const keys = await under([MASTER], clock).followTokenKeys(database.listen)
  const { id: old } = keys.signing()
  const young = await kept.replaceTokenKey({ atOnce: false })
  await expect.poll(() => keys.signing().id, PATIENCE).toBe(young)
  expect(await keys.verifying(old)).toHaveLength(1)
  now += (COOKIE_MAX_AGE_S + 2 * 86_400) * 1_000
  const started = await under([MASTER], clock).followTokenKeys(database.listen)
  for (const here of [started, keys]) {
    expect(await here.verifying(old)).toEqual([])
    expect((await here.verifying(undefined)).map(({ id }) => id)).toEqual([young])
  }
})

test('a token whose key this gateway has not heard of is looked for in the database', async () => {
  const kept = under([MASTER])
  await kept.load(null)
  const deaf = await deafTokens()
  await kept.replaceTokenKey({ atOnce: false })
  const { tokens } = await tokensOf(kept)
  expect(await deaf.tokens.verify(await tokens.issue(subject()))).not.toBeNull()
})

test('made-up key names cost few looks, tell nobody of news, and keep no new key from being found', async () => {
  const kept = under([MASTER])
  await kept.load(null)
  const deaf = await deafTokens()
  let changes = 0
  deaf.keys.onChange(() => void changes++)
  const looksBefore = deaf.looks()
  const forge = () => deaf.keys.verifying(randomBytes(8).toString('hex'))
  await Promise.all(Array.from({ length: 100 }, forge))
  await Promise.all(Array.from({ length: 100 }, () => deaf.keys.verifying('no name of ours')))
  expect(deaf.looks() - looksBefore).toBeLessThanOrEqual(2)
  expect(changes).toBe(0)
  const id = await kept.replaceTokenKey({ atOnce: false })
  const beside = Array.from({ length: 100 }, forge)
  expect((await deaf.keys.verifying(id)).map(key => key.id)).toEqual([id])
  await Promise.all(beside)
  expect(deaf.looks() - looksBefore).toBeLessThanOrEqual(4)
  expect(changes).toBe(1)
})

/** Of a gateway that no notification reaches. */
async function deafTokens() {
  let looks = 0
  const db = new Proxy(database.db, {
    get(target, name) {
      if (name === 'select') looks++
      return Reflect.get(target, name, target)
    },
  })
  const keys = await under([MASTER], systemClock, db).followTokenKeys(async () => () => {})
  return { keys, tokens: createAccessTokens({ keys, clock: systemClock }), looks: () => looks }
}

function under(masterKeys: [Uint8Array, ...Uint8Array[]], clock = systemClock, db = database.db) {
  return createKeptSecrets({
    db,
    clock,
    ids: systemIds,
    log: pino({ level: 'silent' }),
    masterKeys,
  })
}

async function tokensOf(kept: ReturnType<typeof createKeptSecrets>) {
  const keys = await kept.followTokenKeys(database.listen)
  return { keys, tokens: createAccessTokens({ keys, clock: systemClock }) }
}

function subject() {
  const createdAt = systemClock.now()
  return {
    sessionId: systemIds.uuid(),
    userId: systemIds.uuid(),
    createdAt,
    expiresAt: new Date(createdAt.getTime() + 60_000),
  }
}

/** The same claims and signature under a head that names no key: the signature covers the head. */
function withoutKeyName(token: string): string {
  const [, claims, signature] = token.split('.')
  const head = Buffer.from(JSON.stringify({ alg: 'EdDSA', typ: 'JWT' })).toString('base64url')
  return `${head}.${claims}.${signature}`
}
