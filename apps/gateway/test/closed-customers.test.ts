import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { closeCustomer } from '../src/domains/customers/customers.ts'
import { createApiKeys } from '../src/domains/models/api-keys.ts'
import { createOutbound } from '../src/domains/registries/outbound.ts'
import { createRegistries } from '../src/domains/registries/registries.ts'
import { LOGIN, startRegistry, type TestRegistry } from '../src/domains/registries/registry-fixture.ts'
import { ed25519Bytes, lineOf } from '../src/domains/ssh-keys/public-key-fixture.ts'
import { createSshKeys } from '../src/domains/ssh-keys/ssh-keys.ts'
import { systemClock } from '../src/platform/clock.ts'
import { systemIds } from '../src/platform/ids.ts'
import { createSealer } from '../src/platform/sealer.ts'
import { newCustomer } from './open-customers.ts'
import { createTestDatabase, type TestDatabase } from './test-database.ts'
import { createTestEvents } from './test-events.ts'

// Goal: no change on behalf of a customer slips in after the account was closed. Method: each change is asked for what
// the customer has, which it would do a moment earlier.

let database: TestDatabase
let yard: TestRegistry
let domains: ReturnType<typeof domainsOn>
beforeAll(async () => {
  database = await createTestDatabase()
  yard = await startRegistry('token')
  domains = domainsOn(database, yard)
})
afterAll(async () => {
  await yard.close()
  await database.drop()
})

type Change = (userId: string) => Promise<() => Promise<unknown>>

/** Each prepares what the customer has, and returns the change. */
const CHANGES: Record<string, Change> = {
  'an SSH key added': async userId => () => domains.sshKeys.add(userId, key()),
  'an SSH key removed': async userId => {
    const { id } = await domains.sshKeys.add(userId, key())
    return () => domains.sshKeys.remove(userId, id)
  },
  'a registry credential added': async userId => () => domains.registries.add(userId, credential()),
  'a registry credential changed': async userId => {
    const { id } = await domains.registries.add(userId, credential())
    return () => domains.registries.edit(userId, id, { name: 'other' })
  },
  'a registry credential checked': async userId => {
    const { id } = await domains.registries.add(userId, credential())
    return () => domains.registries.check(userId, id)
  },
  'a registry credential removed': async userId => {
    const { id } = await domains.registries.add(userId, credential())
    return () => domains.registries.remove(userId, id)
  },
  'an API key made': async userId => () => domains.apiKeys.create(userId, API_KEY),
  'an API key revoked': async userId => {
    const { id } = await domains.apiKeys.create(userId, API_KEY)
    return () => domains.apiKeys.revoke(userId, id)
  },
}

describe('[R1.7] after an account was closed', () => {
  test.each(Object.keys(CHANGES))('there is never %s', async name => {
    const userId = await newCustomer(database.db)
    const change = await CHANGES[name]?.(userId)
    await database.db.transaction(tx => closeCustomer(tx, { userId, at: systemClock.now() }))
    await expect(change?.()).rejects.toMatchObject({ code: 'login_expired' })
  })
})

const API_KEY = { name: 'one', expires_in_days: null }
const key = () => ({ name: '', public_key: lineOf('ssh-ed25519', [ed25519Bytes()]) })
const credential = () => ({ name: `at ${randomUUID()}`, registry: yard.host, ...LOGIN })

function domainsOn({ db }: TestDatabase, { host }: TestRegistry) {
  const log = pino({ level: 'silent' })
  const deps = { db, clock: systemClock, ids: systemIds, events: createTestEvents(db), log }
  return {
    sshKeys: createSshKeys(deps),
    apiKeys: createApiKeys(deps),
    registries: createRegistries({
      ...deps,
      sealer: createSealer({ keys: [new Uint8Array(32)], purpose: 'test', ids: systemIds }),
      outbound: createOutbound({ privateHosts: [host], resolve: async () => ['10.0.0.7'] }),
    }),
  }
}
