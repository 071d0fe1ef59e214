import { getAccount, getSettings, listMailbox, signup } from '@berth/contract/account'
import { deleteAccount } from '@berth/contract/account-security'
import { getBalance, topup } from '@berth/contract/billing'
import { calls } from '@berth/contract/calls'
import { officialImages } from '@berth/contract/images'
import { deployInstance, listInstances, terminateInstance } from '@berth/contract/instances'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createMailboxDriver } from '../src/drivers/mail/mailbox.ts'
import { systemClock } from '../src/platform/clock.ts'
import { signUpBody } from './identity-bench.ts'
import { sendCall, startGateway, type TestGateway } from './start-gateway.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startGateway()
})
afterAll(() => gateway.stop())

test('[R7.9] every call of the contract is answered', async () => {
  const missing: string[] = []
  for (const call of calls) {
    const path = call.path.replace(/\{\w+\}/g, 'x')
    const response = await fetch(`${gateway.origin}/gateway${path}`, { method: call.method })
    const { code } = (await response.json()) as { code?: string }
    // Paths with parameters may well find nothing by `x`, but only behind the sign-in.
    if (code === 'method_not_allowed' || (code === 'not_found' && !path.includes('x')))
      missing.push(call.operation)
    if (code === 'not_found' && call.audience !== 'guest') missing.push(call.operation)
  }
  expect(missing).toEqual([])
})

test('[B3] a customer tops up, deploys and deletes over HTTP', async () => {
  const { token, userId, email } = await gateway.signUp()
  expect(await gateway.data(getAccount, {}, { token })).toMatchObject({
    id: userId,
    email,
    emailVerified: true,
  })

  const body = {
    amount: 2_000,
    currency: 'USD',
    platform_name: 'testcard',
    source: '4242424242424242',
  } as const
  const key = 'top-up-by-test'
  const first = await gateway.call(topup, { body }, { token, idempotencyKey: key })
  expect(first).toMatchObject({ httpStatus: 200, envelope: { data: { amount: 2_000, status: 'settled' } } })
  const again = await gateway.call(topup, { body }, { token, idempotencyKey: key })
  expect(again.envelope).toEqual(first.envelope)
  expect(again.headers.get('idempotent-replayed')).toBe('true')
  expect(await gateway.data(getBalance, {}, { token })).toMatchObject({ account_balance: { amount: 2_000 } })

  const images = await gateway.data(officialImages, {})
  const image_id = images.find(({ available }) => available)?.id ?? 'none'
  const { instance_id } = await gateway.data(
    deployInstance,
    {
      body: {
        name: 'over-http',
        kind: 'POD',
        region_code: 'us-west',
        gpu_spec_id: 'cpu',
        gpu_count: 1,
        image_id,
        container_disk_gb: 20,
      },
    },
    { token },
  )
  await expect
    .poll(
      async () =>
        (await gateway.data(listInstances, {}, { token })).find(one => one.instance_id === instance_id)
          ?.status,
      {
        timeout: 60_000,
      },
    )
    .toBe('running')
  await gateway.data(terminateInstance, { params: { id: instance_id } }, { token })
})

test('[R1.7] what a call adds that was under way when its account was deleted is refused', async () => {
  const { token, userId, email } = await gateway.signUp()
  await gateway.data(deleteAccount, { body: { email } }, { token })
  const { models, registries } = gateway.gateway
  const credential = { name: 'yard', registry: 'ghcr.io', username: 'anna', password: 'secret' }
  const deleted = { code: 'login_expired' }
  const limits = { models: null, spend_limit: null, requests_per_minute: null, tokens_per_minute: null }
  const lateKey = { name: 'late', expires_in_days: null, ...limits }
  await expect(models.apiKeys.create(userId, lateKey)).rejects.toMatchObject(deleted)
  await expect(registries.add(userId, credential)).rejects.toMatchObject(deleted)
})

test('[R1.10] settings are there for guests', async () => {
  expect(await gateway.data(getSettings, {})).toMatchObject({ brand: { name: 'Berth' }, mailbox: true })
})

test('[B1] a proxy on this computer does not show the mailbox to others', async () => {
  expect((await fetchMailbox(gateway.origin, {})).status).toBe(200)
  for (const name of ['forwarded', 'x-forwarded-for', 'x-real-ip']) {
    expect((await fetchMailbox(gateway.origin, { [name]: '203.0.113.7' })).status, name).toBe(404)
  }
})

test.each([
  ['with a public address', { publicUrl: 'https://gpu.example.com' }],
  ['beyond loopback', { host: '0.0.0.0' }],
])('[B1] a gateway %s keeps mails but has no mailbox', async (_, parts) => {
  const open = await startGateway(parts)
  try {
    const address = open.gateway.server.app.server.address()
    const origin = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`
    const made = await sendCall(origin, signup, { body: signUpBody('kept@example.com') })
    expect(made.envelope.status).toBe('ok')
    const kept = createMailboxDriver({ db: open.database.db, clock: systemClock })
    await expect.poll(async () => (await kept.list()).map(({ to }) => to)).toEqual(['kept@example.com'])
    expect((await fetchMailbox(origin, {})).status).toBe(404)
    expect((await sendCall(origin, getSettings, {})).envelope.data).toMatchObject({ mailbox: false })
    expect(open.gateway.paymentsShown).toBe('test')
  } finally {
    await open.stop()
  }
})

function fetchMailbox(origin: string, headers: Record<string, string>): Promise<Response> {
  return fetch(`${origin}/gateway${listMailbox.path}`, { headers })
}
