import { afterAll, beforeAll, expect, test } from 'vitest'
import { startGateway, type TestGateway } from './start-gateway.ts'

let first: TestGateway
beforeAll(async () => {
  first = await startGateway()
})
afterAll(() => first.stop())

test('[R3.12] an operator who sets a key, and changes it, loses no registry password', async () => {
  const { userId } = await first.signUp()
  const login = { registry: 'ghcr.io', username: 'anna', password: 'secret' }
  const { id } = await first.gateway.registries.add(userId, { name: 'GHCR', ...login })
  const [one, other] = [1, 2].map(fill => Buffer.alloc(32, fill).toString('base64'))
  const steps = [
    { credentialsKey: one ?? '', formerCredentialsKeys: [] },
    { credentialsKey: other ?? '', formerCredentialsKeys: [one ?? ''] },
    // The start before has sealed everything under it, so the former one is not needed any more.
    { credentialsKey: other ?? '', formerCredentialsKeys: [] },
    { credentialsKey: null, formerCredentialsKeys: [other ?? ''] },
    { credentialsKey: null, formerCredentialsKeys: [] },
  ]
  for (const keys of steps) {
    const database = { ...first.database, close: async () => {} }
    const { gateway, stop } = await startGateway({ ...keys, database })
    expect(await gateway.registries.open(userId, id)).toEqual(login)
    await stop()
  }
})
