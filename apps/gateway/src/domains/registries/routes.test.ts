import { randomUUID } from 'node:crypto'
import type { Call, CallInput } from '@berth/contract/call'
import { REGISTRY_CREDENTIALS_PER_USER_MAX } from '@berth/contract/limits'
import {
  addRegistryCredential,
  checkRegistryCredential,
  editRegistryCredential,
  listRegistryCredentials,
  removeRegistryCredential,
} from '@berth/contract/registries'
import { eq } from 'drizzle-orm'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { PATIENCE_MS } from '../../../../../scripts/test/patience-ms.ts'
import { newCustomer } from '../../../test/open-customers.ts'
import { sendCall } from '../../../test/start-gateway.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import { createTestEvents, type TestEvents } from '../../../test/test-events.ts'
import { startTestServer, type TestServer, TOKENS } from '../../../test/test-server.ts'
import { systemClock } from '../../platform/clock.ts'
import { systemIds } from '../../platform/ids.ts'
import { createLogTo } from '../../platform/log.ts'
import { createSealer } from '../../platform/sealer.ts'
import { accountDeleted } from '../identity/events.ts'
import { CHECKS_PER_MINUTE_MAX, createCheckLimit, RUNNING_PER_CUSTOMER_MAX } from './check-limit.ts'
import { createOutbound } from './outbound.ts'
import { createRegistries, type Registries } from './registries.ts'
import { LOGIN, startRegistry, type TestRegistry } from './registry-fixture.ts'
import { registriesRoutes } from './routes.ts'
import { registryCredential } from './tables.ts'

const FIRST = new Uint8Array(32).fill(1)
const SECOND = new Uint8Array(32).fill(2)

let database: TestDatabase
let yard: TestRegistry
let registries: Registries
let server: TestServer
let logged = ''
let events: TestEvents

beforeAll(async () => {
  database = await createTestDatabase()
  events = createTestEvents(database.db)
  yard = await startRegistry('token')
  registries = registriesUnder([FIRST])
  const log = createLogTo({ write: line => (logged += line) }, { level: 'trace' })
  server = await startTestServer(database.db, registriesRoutes(registries), { log })
})
afterAll(async () => {
  await server.close(1_000)
  await yard.close()
  await database.drop()
})

/** The domain on the same database with those keys, the first of which seals. */
function registriesUnder(keys: [Uint8Array, ...Uint8Array[]]): Registries {
  return createRegistries({
    db: database.db,
    clock: systemClock,
    ids: systemIds,
    log: pino({ level: 'silent' }),
    sealer: createSealer({ keys, purpose: 'test', ids: systemIds }),
    outbound: createOutbound({
      privateHosts: [yard.host, 'gone.localhost:1'],
      resolve: async () => ['10.0.0.7'],
    }),
    events,
  })
}

async function send<C extends Call>(call: C, input: CallInput<C>, token = 'anna') {
  const { httpStatus, envelope } = await sendCall(server.origin, call, input as never, { token })
  return { httpStatus, ...envelope } as unknown as { httpStatus: number; data: Credential }
}
type Credential = Awaited<ReturnType<Registries['add']>>

const body = (rest: object = {}) => ({ name: `at ${randomUUID()}`, registry: yard.host, ...LOGIN, ...rest })

test('[R3.12] [R2.25] a credential is kept, listed, changed and removed, and its password never comes out', async () => {
  const given = body({ name: 'Yard' })
  const { data } = await send(addRegistryCredential, { body: given })
  expect(data).toMatchObject({
    name: 'Yard',
    registry: yard.host,
    username: LOGIN.username,
    checked_at: null,
  })
  expect(events.told).toContainEqual({
    event: 'registry-credential.added',
    payload: { userId: TOKENS.anna?.userId, at: expect.any(String), name: 'Yard' },
  })
  const edit = { params: { id: data.id }, body: { name: 'Inner yard', password: 'an0ther-one' } }
  const edited = await send(editRegistryCredential, edit)
  expect(edited.data).toMatchObject({ id: data.id, name: 'Inner yard', username: LOGIN.username })
  const listed = await send(listRegistryCredentials, {})
  expect(listed).toMatchObject({ data: [edited.data] })
  const all = JSON.stringify([data, edited, listed])
  for (const password of [LOGIN.password, 'an0ther-one']) {
    expect(all).not.toContain(password)
    expect(logged).not.toContain(password)
  }
  expect((await send(removeRegistryCredential, { params: { id: data.id } }, 'ben')).httpStatus).toBe(404)
  expect((await send(removeRegistryCredential, { params: { id: data.id } })).httpStatus).toBe(200)
  expect((await send(editRegistryCredential, edit)).httpStatus).toBe(404)
})

test('[R3.12] the database holds no password in the clear, and a row is worth nothing to another customer', async () => {
  const anna = TOKENS.anna?.userId ?? ''
  const ben = TOKENS.ben?.userId ?? ''
  const { id } = await registries.add(anna, body())
  const [row] = await database.db.select().from(registryCredential).where(eq(registryCredential.id, id))
  expect(row?.password.includes(LOGIN.password)).toBe(false)
  expect(await registries.open(anna, id)).toEqual({ registry: yard.host, ...LOGIN })
  await expect(registries.open(ben, id)).rejects.toMatchObject({ code: 'not_found' })
  // Written over to ben, as somebody might who can write to the database.
  await database.db.update(registryCredential).set({ userId: ben }).where(eq(registryCredential.id, id))
  await expect(registries.open(ben, id)).rejects.toThrow()
  await database.db.delete(registryCredential).where(eq(registryCredential.id, id))
})

test('[R3.12] a changed key opens what is there, seals it again, and lets the former one be taken away', async () => {
  const userId = await newCustomer(database.db)
  const { id } = await registriesUnder([FIRST]).add(userId, body())
  const rotated = registriesUnder([SECOND, FIRST])
  expect((await rotated.open(userId, id)).password).toBe(LOGIN.password)
  const without = registriesUnder([SECOND])
  await expect(without.open(userId, id)).rejects.toThrow('is not set')
  expect(await without.resealFormer()).toBe(0)
  expect(await rotated.resealFormer()).toBeGreaterThanOrEqual(1)
  expect(await rotated.resealFormer()).toBe(0)
  expect((await without.open(userId, id)).password).toBe(LOGIN.password)
  // Back again, for the other tests.
  await registriesUnder([FIRST, SECOND]).resealFormer()
})

test('[R3.12] a name is there once for a customer; an unknown credential is missing before its name is looked at', async () => {
  const { data } = await send(addRegistryCredential, { body: body({ name: 'Twice' }) })
  const other = await send(addRegistryCredential, { body: body({ name: 'Once' }) })
  const taken = { httpStatus: 400, fields: [{ path: 'name', rule: 'name_taken' }] }
  expect(await send(addRegistryCredential, { body: body({ name: 'Twice' }) })).toMatchObject(taken)
  const rename = (id: string) => send(editRegistryCredential, { params: { id }, body: { name: 'Twice' } })
  expect(await rename(other.data.id)).toMatchObject(taken)
  expect(await rename(data.id)).toMatchObject({ httpStatus: 200 })
  expect(await rename(randomUUID())).toMatchObject({ httpStatus: 404 })
  const userId = await newCustomer(database.db)
  const both = await Promise.allSettled(['a', 'b'].map(() => registries.add(userId, body({ name: 'Race' }))))
  expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
})

test.each([
  ['127.0.0.1', 'registry_host_private'],
  ['10.1.2.3:5000', 'registry_host_private'],
  ['169.254.169.254', 'registry_host_private'],
  ['localhost', 'registry_host_private'],
  ['localhost:1', 'registry_host_private'],
  ['a.localhost', 'registry_host_private'],
  ['127.1', 'registry_host'],
  ['2130706433', 'registry_host'],
  ['0x7f.1', 'registry_host'],
  ['ghcr.io:0', 'registry_host'],
  ['ghcr.io:70000', 'registry_host'],
  ['https://ghcr.io', 'registry_host'],
  ['ghcr.io/path', 'registry_host'],
  ['user@ghcr.io', 'registry_host'],
])('[R3.12] %s is no registry: %s', async (registry, rule) => {
  expect(await send(addRegistryCredential, { body: body({ registry }) })).toMatchObject({
    httpStatus: 400,
    fields: [{ path: 'registry', rule }],
  })
})

test('[R3.12] Docker Hub is what is meant where no registry is named', async () => {
  const { registry: _, ...rest } = body()
  expect((await send(addRegistryCredential, { body: rest })).data).toMatchObject({ registry: 'docker.io' })
})

describe('[R3.12] a check', () => {
  test('asks the registry, and what it said is kept until the login is changed', async () => {
    const { data } = await send(addRegistryCredential, { body: body({ password: 'wrong' }) })
    const params = { id: data.id }
    expect((await send(checkRegistryCredential, { params })).data.check_result).toBe('refused')
    const { password } = LOGIN
    const edited = await send(editRegistryCredential, { params, body: { password } })
    expect(edited.data).toMatchObject({ check_result: null, checked_at: null })
    const checked = await send(checkRegistryCredential, { params })
    expect(checked.data).toMatchObject({ check_result: 'accepted', checked_at: expect.any(String) })
    const renamed = await send(editRegistryCredential, { params, body: { name: 'Only the name' } })
    expect(renamed.data).toMatchObject({ check_result: 'accepted' })
  })

  test('of a host that turns out to be private is refused, and of one that is gone says so', async () => {
    const hidden = await send(addRegistryCredential, { body: body({ registry: 'inner.example' }) })
    expect(await send(checkRegistryCredential, { params: { id: hidden.data.id } })).toMatchObject({
      httpStatus: 400,
      fields: [{ path: 'registry', rule: 'registry_host_private' }],
    })
    const gone = await send(addRegistryCredential, { body: body({ registry: 'gone.localhost:1' }) })
    const checked = await send(checkRegistryCredential, { params: { id: gone.data.id } })
    expect(checked.data.check_result).toBe('unreachable')
  })

  test('of somebody else’s credential asks nobody', async () => {
    const { data } = await send(addRegistryCredential, { body: body() })
    const before = yard.asked.length
    expect(await send(checkRegistryCredential, { params: { id: data.id } }, 'ben')).toMatchObject({
      httpStatus: 404,
    })
    expect(yard.asked).toHaveLength(before)
  })

  test('cannot be asked for without end', async () => {
    const userId = await newCustomer(database.db)
    const { id } = await registries.add(userId, body())
    const checks = Array.from({ length: CHECKS_PER_MINUTE_MAX + 1 }, () => registries.check(userId, id))
    const results = await Promise.allSettled(checks)
    expect(results.filter(({ status }) => status === 'rejected')).toMatchObject([
      { reason: { code: 'too_many_requests' } },
    ])
  })

  test('of slow registries keep nobody else from theirs, however many one customer asks for', async () => {
    const limit = createCheckLimit({ db: database.db, clock: systemClock })
    const gate = Promise.withResolvers<void>()
    let running = 0
    const slow = async () => {
      running++
      await gate.promise
      running--
    }
    const customers = [systemIds.uuid(), systemIds.uuid()]
    const checks = customers.flatMap(userId =>
      Array.from({ length: CHECKS_PER_MINUTE_MAX }, () => limit.run(userId, slow)),
    )
    await expect(limit.run(systemIds.uuid(), async () => 'checked')).resolves.toBe('checked')
    await vi.waitUntil(() => running >= customers.length * RUNNING_PER_CUSTOMER_MAX, { timeout: PATIENCE_MS })
    await expect(limit.run(systemIds.uuid(), async () => 'checked')).resolves.toBe('checked')
    expect(running).toBe(customers.length * RUNNING_PER_CUSTOMER_MAX)
    gate.resolve()
    await Promise.all(checks)
  })
})

test('[R3.12] no more credentials than the limit are kept; forgetting a customer leaves none', async () => {
  const userId = await newCustomer(database.db)
  const adds = Array.from({ length: REGISTRY_CREDENTIALS_PER_USER_MAX + 3 }, () =>
    registries.add(userId, body()),
  )
  const results = await Promise.allSettled(adds)
  expect(await registries.list(userId)).toHaveLength(REGISTRY_CREDENTIALS_PER_USER_MAX)
  for (const result of results) {
    if (result.status === 'rejected') {
      expect(result.reason).toMatchObject({ code: 'registry_credential_limit' })
    }
  }
  await events.hear(accountDeleted, { userId })
  expect(await registries.list(userId)).toEqual([])
})
