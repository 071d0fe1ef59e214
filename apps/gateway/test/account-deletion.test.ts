import { generateKeyPairSync } from 'node:crypto'
import { getAccount } from '@berth/contract/account'
import { deleteAccount, listAuditLog } from '@berth/contract/account-security'
import { createApiKey } from '@berth/contract/api-keys'
import { topup } from '@berth/contract/billing'
import { deployInstance, listInstances, terminateInstance } from '@berth/contract/instances'
import { setNotifications } from '@berth/contract/notifications'
import { addRegistryCredential } from '@berth/contract/registries'
import { addSshKey } from '@berth/contract/ssh-keys'
import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { auditEntry } from '../src/domains/audit/tables.ts'
import { ledgerAccount } from '../src/domains/billing/ledger/tables.ts'
import { paymentIntent as topupTable } from '../src/domains/billing/payments/tables.ts'
import { instance } from '../src/domains/instances/tables.ts'
import { apiKey } from '../src/domains/models/tables.ts'
import { DEFAULT_CHOICE } from '../src/domains/notifications/choices.ts'
import { notificationChoice } from '../src/domains/notifications/tables.ts'
import { registryCredential } from '../src/domains/registries/tables.ts'
import { sshKey } from '../src/domains/ssh-keys/tables.ts'
import { PaymentUnavailable } from '../src/drivers/payments/port.ts'
import { createTestcardDriver } from '../src/drivers/payments/testcard/testcard-driver.ts'
import { systemClock } from '../src/platform/clock.ts'
import { systemIds } from '../src/platform/ids.ts'
import { startGateway, type TestGateway } from './start-gateway.ts'

type Customer = Awaited<ReturnType<TestGateway['signUp']>>

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startGateway()
})
afterAll(() => gateway.stop())

test('[R1.7] an account with instances is not deleted, and is once they are gone', async () => {
  const customer = await payer()
  const { token } = customer
  const { instance_id: id } = await gateway.data(
    deployInstance,
    { body: { ...DEPLOY, env: { SECRET: 'x' } } },
    { token },
  )
  const refused = await remove(customer)
  expect(refused.envelope).toMatchObject({ code: 'account_has_instances', msg: expect.stringContaining('1') })
  expect(await gateway.data(getAccount, {}, { token })).toMatchObject({ email: customer.email })

  await gateway.data(terminateInstance, { params: { id } }, { token })
  await vi.waitUntil(async () => (await gateway.data(listInstances, {}, { token })).length === 0, WAIT)
  expect((await remove(customer)).envelope).toMatchObject({ status: 'ok', data: null })
  expect((await gateway.call(getAccount, {}, { token })).envelope).toMatchObject({ code: 'login_expired' })
  const kept = async () => (await db().select().from(instance).where(eq(instance.id, id)))[0]
  await vi.waitUntil(async () => Object.keys((await kept())?.env ?? {}).length === 0, WAIT)
  expect(await kept()).toMatchObject({ env: {}, startCommand: '' })
})

test('[R1.7] what every domain keeps of a deleted account goes, though the gateway dies at that moment', async () => {
  const dying = await startGateway()
  try {
    const { token, email, userId } = await dying.signUp()
    await dying.data(addSshKey, { body: { public_key: publicKey() } }, { token })
    await dying.data(createApiKey, { body: { name: 'mine' } }, { token })
    const login = { name: 'mine', registry: 'registry.example', username: 'ada', password: 'secret' }
    await dying.data(addRegistryCredential, { body: login }, { token })
    await dying.data(setNotifications, { body: { ...DEFAULT_CHOICE, alert_hours: [] } }, { token })
    const kept = async () => {
      const tables = [sshKey, apiKey, registryCredential, notificationChoice]
      return await Promise.all(tables.map(table => dying.database.db.$count(table, eq(table.userId, userId))))
    }
    expect(await kept()).toEqual([1, 1, 1, 1])

    // It still answers, but nothing that waits is done by it any more.
    await dying.gateway.stopLoops()
    const answer = await dying.call(deleteAccount, { body: { email } }, { token })
    expect(answer.envelope).toMatchObject({ status: 'ok' })
    expect(await kept()).toEqual([1, 1, 1, 1])
    const next = await startGateway({ database: { ...dying.database, close: async () => {} } })
    await vi.waitUntil(async () => (await kept()).every(count => count === 0), WAIT)
    await next.stop()
  } finally {
    await dying.stop()
  }
})

test('[B2] what is left of the balance stays on the books, which balance', async () => {
  const customer = await payer()
  expect((await remove(customer)).envelope).toMatchObject({ status: 'ok' })
  const accounts = await db().select().from(ledgerAccount).where(eq(ledgerAccount.userId, customer.userId))
  expect(accounts.reduce((sum, { balanceMicro }) => sum + (balanceMicro ?? 0n), 0n)).toBe(50_000_000n)
  expect(await gateway.gateway.billing.checkBooks()).toEqual([])
})

test('[B12] the audit log of a deleted account stays', async () => {
  const customer = await payer()
  await gateway.data(listAuditLog, {}, { token: customer.token })
  await remove(customer)
  const actions = async () => {
    const rows = await db().select().from(auditEntry).where(eq(auditEntry.userId, customer.userId))
    return rows.map(({ action }) => action)
  }
  await vi.waitUntil(async () => (await actions()).includes('account.delete-account'), WAIT)
  expect(await actions()).toContain('account.login')
})

test('nothing is deployed or paid for an account that was deleted, though its call was let in before', async () => {
  const customer = await payer()
  const { userId } = customer
  await remove(customer)
  const { billing, instances } = gateway.gateway
  const { amount: amountCents, currency, platform_name: platformName, source } = TOPUP
  const paying = billing.topUp({ userId, idempotencyKey: 'k', amountCents, currency, platformName, source })
  await expect(paying).rejects.toMatchObject({ code: 'login_expired' })
  expect(await db().select().from(topupTable).where(eq(topupTable.userId, userId))).toEqual([])
  const body = deployInstance.body.parse(DEPLOY)
  const deploying = instances.deploy({ userId, idempotencyKey: 'k', body })
  await expect(deploying).rejects.toMatchObject({ code: 'login_expired' })
})

/** Steps of the head start that one of two calls gets. */
const HEAD_START_MS = 15

test('of a deploy and a deletion at once, one is refused: no machine is left behind', async () => {
  const ends = new Set<string>()
  for (let round = 0; round < 12; round++) {
    const customer = await payer()
    const deploying = () => gateway.call(deployInstance, { body: DEPLOY }, { token: customer.token })
    const [removed, deployed] = await race(round, () => remove(customer), deploying)
    const machines = await db().select().from(instance).where(eq(instance.userId, customer.userId))
    if (removed.envelope.status === 'ok') {
      expect(machines).toEqual([])
      expect(deployed.envelope).toMatchObject({ code: 'login_expired' })
    } else {
      expect(removed.envelope).toMatchObject({ code: 'account_has_instances' })
      expect(machines).toHaveLength(1)
    }
    ends.add(removed.envelope.status)
  }
  expect(ends.size).toBe(2)
})

test('[B2] of a top-up and a deletion at once, none loses money', async () => {
  for (let round = 0; round < 12; round++) {
    const customer = await payer()
    const paying = () => gateway.call(topup, { body: TOPUP }, { token: customer.token })
    const [removed, paid] = await race(round, () => remove(customer), paying)
    const rows = await db().select().from(topupTable).where(eq(topupTable.userId, customer.userId))
    if (paid.envelope.status === 'ok') expect(rows).toMatchObject([{ state: 'succeeded' }])
    else {
      expect(paid.envelope).toMatchObject({ code: 'login_expired' })
      expect(rows).toEqual([])
    }
    if (removed.envelope.status === 'error')
      expect(removed.envelope).toMatchObject({ code: 'payment_pending' })
  }
  expect(await gateway.gateway.billing.checkBooks()).toEqual([])
})

test('[B3] while it is not known whether a card was charged, an account is not deleted', async () => {
  const testcard = createTestcardDriver({
    db: db(),
    clock: systemClock,
    ids: systemIds,
    log: { error: () => {} },
    webhook_secret: () => new Uint8Array(32),
    offered: true,
  })
  const silent = {
    ...testcard,
    createIntent: async () => {
      throw new PaymentUnavailable('silent')
    },
  }
  const other = await startGateway({ payments: [silent] })
  try {
    const { token, email } = await other.signUp()
    expect((await other.call(topup, { body: TOPUP }, { token })).envelope).toMatchObject({
      code: 'payment_pending',
    })
    const answer = await other.call(deleteAccount, { body: { email } }, { token })
    expect(answer.envelope).toMatchObject({ code: 'payment_pending' })
    expect(await other.data(getAccount, {}, { token })).toMatchObject({ email })
  } finally {
    await other.stop()
  }
})

const DEPLOY = {
  name: 'mine',
  region_code: 'us-west',
  gpu_spec_id: 'cpu',
  gpu_count: 1,
  image_id: 'berth-base',
  container_disk_gb: 20,
}
const TOPUP = {
  amount: 2_500,
  currency: 'USD',
  platform_name: 'testcard',
  source: '4242 4242 4242 4242',
} as const
function publicKey(): string {
  const key = generateKeyPairSync('ed25519').publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
  const fields = [Buffer.from('ssh-ed25519'), key].flatMap(part => [Buffer.of(0, 0, 0, part.length), part])
  return `ssh-ed25519 ${Buffer.concat(fields).toString('base64')}`
}

const WAIT = { timeout: 60_000 }
const db = () => gateway.database.db

/** A customer with $50. */
async function payer(): Promise<Customer> {
  const customer = await gateway.signUp()
  await gateway.grant(customer.userId, 5_000)
  return customer
}

function remove({ token, email }: Customer) {
  return gateway.call(deleteAccount, { body: { email } }, { token })
}

/** Both at once; who is sent first changes with the round. */
async function race<A, B>(round: number, first: () => Promise<A>, second: () => Promise<B>): Promise<[A, B]> {
  // Apart by more and more, each ahead of the other by turns, so that they meet in every order and both come to win.
  const headStart = () => new Promise(resolve => setTimeout(resolve, round * HEAD_START_MS))
  if (round % 2 === 0) {
    const early = first()
    await headStart()
    const late = await second()
    return [await early, late]
  }
  const early = second()
  await headStart()
  return [await first(), await early]
}
