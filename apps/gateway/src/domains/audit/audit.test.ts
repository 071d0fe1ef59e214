import { randomUUID } from 'node:crypto'
import { endOtherSessions, getAccount, listSessions, login, signup } from '@berth/contract/account'
import { listAuditLog, setPassword } from '@berth/contract/account-security'
import { getBalance, topup } from '@berth/contract/billing'
import { checkResource, deployInstance, listInstances, stopInstance } from '@berth/contract/instances'
import { AUDIT_KEPT_DAYS } from '@berth/contract/limits'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { startGateway, type TestGateway } from '../../../test/start-gateway.ts'
import { auditEntry } from './tables.ts'

const PASSWORD = 'Correct-Horse-7'
const DAY_MS = 24 * 3_600_000

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startGateway()
})
afterAll(() => gateway.stop())

describe('[B12] the audit log', () => {
  test('holds what was done, to what and from where, newest first', async () => {
    const { token, userId } = await gateway.signUp()
    await gateway.grant(userId, 5_000)
    const { instance_id: id } = await gateway.data(deployInstance, { body: DEPLOY }, { token })
    await vi.waitUntil(async () => (await statusOf(token, id)) === 'running')
    await gateway.data(stopInstance, { params: { id } }, { token })
    const { items, total } = await gateway.data(listAuditLog, {}, { token })
    expect(items.slice(0, 2)).toMatchObject([
      { action: 'instance.stop', target: id, refused: '', actor: 'customer', address: '127.0.0.1' },
      { action: 'instance.deploy', target: id, refused: '', actor: 'customer', userAgent: 'node' },
    ])
    expect(total).toBe(items.length)
    expect(items.map(({ createdTime }) => createdTime)).toEqual(
      items
        .map(({ createdTime }) => createdTime)
        .toSorted()
        .reverse(),
    )
  })

  test('holds what was refused, with the code', async () => {
    const { token } = await gateway.signUp()
    await gateway.call(stopInstance, { params: { id: 'i-nowhere' } }, { token })
    await gateway.call(deployInstance, { body: { ...DEPLOY, name: '' } }, { token })
    await gateway.call(deployInstance, { body: DEPLOY }, { token })
    expect(await entries(token)).toMatchObject([
      { action: 'instance.deploy', target: '', refused: 'insufficient_balance' },
      {
        action: 'instance.deploy',
        target: '',
        refused: expect.stringMatching(/required_fields|validation_failed/),
      },
      { action: 'instance.stop', target: 'i-nowhere', refused: 'not_found' },
    ])
  })

  test('holds what an account that is not activated tried', async () => {
    const token = await signUpByForm()
    await gateway.call(deployInstance, { body: DEPLOY }, { token })
    expect((await entries(token))[0]).toMatchObject({
      action: 'instance.deploy',
      refused: 'account_not_activated',
    })
  })

  test('does not hold what only looks', async () => {
    const { token } = await gateway.signUp()
    await gateway.data(getAccount, {}, { token })
    await gateway.data(getBalance, {}, { token })
    await gateway.call(
      checkResource,
      { body: { region_code: 'us-west', gpu_spec_id: 'cpu', gpu_count: 1 } as never },
      { token },
    )
    expect(await entries(token)).toEqual([])
  })

  test('[B3] holds a call once, however often it is sent with its key', async () => {
    const { token } = await gateway.signUp()
    const idempotencyKey = randomUUID()
    const send = () => gateway.data(topup, { body: TOPUP }, { token, idempotencyKey })
    const [{ transaction_id }] = await Promise.all([send(), send(), send()])
    await send()
    expect(await entries(token)).toMatchObject([{ action: 'bill.topup', target: transaction_id }])
  })

  test('holds log-ins, and those that failed for a known account', async () => {
    const token = await signUpByForm('known@example.org')
    const wrong = {
      ...names(),
      type: 'token' as const,
      username: 'known@example.org',
      password: 'Wrong-Horse-7',
    }
    await gateway.call(login, { body: wrong })
    await gateway.call(login, { body: { ...wrong, username: 'unknown@example.org' } })
    expect(await all(token)).toMatchObject([
      { action: 'account.login-failed', refused: 'login_tries_left', actor: 'customer' },
      { action: 'account.login', refused: '' },
      { action: 'account.signup', refused: '' },
    ])
  })

  test('holds no secret, whatever was typed', async () => {
    const { token } = await gateway.signUp()
    const email = `${randomUUID()}@example.org`
    const known = await signUpByForm(email)
    const secrets = [PASSWORD, 'Old-Secret-11', 'New-Secret-22', '4242424242424242', '4242 4242 4242 4242']
    const password = { userOwner: 'berth', userName: email, newPassword: 'New-Secret-22' }
    const wrong = { ...password, oldPassword: 'Old-Secret-11' }
    await gateway.call(setPassword, { body: wrong }, { token: known })
    await gateway.data(setPassword, { body: { ...password, oldPassword: PASSWORD } }, { token: known })
    await gateway.call(topup, { body: { ...TOPUP, source: '4242424242424242' } }, { token })
    await gateway.call(topup, { body: TOPUP }, { token })
    expect(await entries(token)).toHaveLength(2)
    expect(await entries(known)).toHaveLength(3)
    const rows = JSON.stringify(await gateway.database.db.select().from(auditEntry))
    for (const secret of [...secrets, email]) expect(rows).not.toContain(secret)
  })

  test('[R6.4] shows each customer their own entries', async () => {
    const [first, second] = [await gateway.signUp(), await gateway.signUp()]
    await gateway.data(endOtherSessions, {}, { token: first.token })
    expect(await entries(second.token)).toEqual([])
    expect(await entries(first.token)).toHaveLength(1)
    const [session] = await gateway.data(listSessions, {}, { token: first.token })
    expect(session).toBeDefined()
  })

  test('comes in pages, and by how an action begins, taken literally', async () => {
    const { token, userId } = await gateway.signUp()
    const { db } = gateway.database
    const actions = ['a_b.one', 'axb.two', 'a_b.three', 'a%b.four', 'a\\b.five']
    for (const [index, action] of actions.entries()) {
      await db.insert(auditEntry).values(entry({ userId, action, id: uuidOf(index) }))
    }
    const actionsBy = async (query: { action?: string; page?: number; page_size?: number }) =>
      (await gateway.data(listAuditLog, { query }, { token })).items
        .map(({ action }) => action)
        .filter(action => /^a/.test(action) && !action.startsWith('account.'))
    expect(await actionsBy({ action: 'a_b.' })).toEqual(['a_b.three', 'a_b.one'])
    expect(await actionsBy({ action: 'a%' })).toEqual(['a%b.four'])
    expect(await actionsBy({ action: 'a\\b' })).toEqual(['a\\b.five'])
    const pages = [1, 2, 3].map(page =>
      gateway.data(listAuditLog, { query: { action: 'a', page, page_size: 2 } }, { token }),
    )
    const listed = (await Promise.all(pages)).flatMap(({ items }) => items.map(({ id }) => id))
    expect(new Set(listed).size).toBe(listed.length)
    expect(listed).toEqual(listed.toSorted().reverse())
  })

  test('[B4] holds what the system does to an account', async () => {
    const { token, userId } = await gateway.signUp()
    const other = await startGateway({ meteringMs: 100 })
    try {
      const owner = await other.signUp()
      await other.grant(owner.userId, 100)
      const { instance_id: id } = await other.data(deployInstance, { body: DEPLOY }, { token: owner.token })
      const status = async () =>
        (await other.data(listInstances, {}, { token: owner.token })).find(one => one.instance_id === id)
          ?.status
      await vi.waitUntil(async () => (await status()) === 'running')
      // As if it had run for two days, with its hour used up.
      await other.database.pool.query(`update usage_interval set started_at = started_at - interval '2 days'`)
      const read = () =>
        other.data(listAuditLog, { query: { action: 'instance.stop' } }, { token: owner.token })
      await vi.waitUntil(async () => (await read()).total > 0)
      expect((await read()).items).toMatchObject([{ actor: 'system', target: id, address: '' }])
    } finally {
      await other.stop()
    }
    expect(userId).not.toBe('')
    expect(await entries(token)).toEqual([])
  })

  test('[R9.6] holds that a pod was removed by the system, since it stayed stopped', async () => {
    const { token, userId } = await gateway.signUp()
    await gateway.grant(userId, 5_000)
    const { instance_id: id } = await gateway.data(deployInstance, { body: DEPLOY }, { token })
    await vi.waitUntil(async () => (await statusOf(token, id)) === 'running')
    await gateway.data(stopInstance, { params: { id } }, { token })
    await vi.waitUntil(async () => (await statusOf(token, id)) === 'stopped')
    // As if thirty days had gone by, with all their mails.
    await gateway.database.pool.query(
      `update instance set stopped_at = now() - interval '31 days', kept_until = now(), deletion_notice_day = 1,
        next_attempt_at = now(), version = version + 1 where id = $1`,
      [id],
    )
    const read = () => gateway.data(listAuditLog, { query: { action: 'instance.terminate' } }, { token })
    await vi.waitUntil(async () => (await read()).total > 0)
    expect((await read()).items).toMatchObject([{ actor: 'system', target: id, address: '' }])
    await vi.waitUntil(async () => (await statusOf(token, id)) === undefined)
  })
})

describe('[B12] an entry', () => {
  const old = () => entry({ at: new Date(Date.now() - (AUDIT_KEPT_DAYS + 1) * DAY_MS) })
  const young = () => entry({ at: new Date(Date.now() - (AUDIT_KEPT_DAYS - 1) * DAY_MS) })
  const query = (text: string, id: string) => gateway.database.pool.query(text, [id])

  test('is never changed, old or young', async () => {
    for (const row of [old(), young()]) {
      await gateway.database.db.insert(auditEntry).values(row)
      const update = query(`update audit_entry set action = 'other' where id = $1`, row.id)
      await expect(update).rejects.toThrow('the audit log is append-only: UPDATE of audit_entry is refused')
    }
  })

  test('is deleted only when it is as old as it is kept', async () => {
    const [gone, kept] = [old(), young()]
    await gateway.database.db.insert(auditEntry).values([gone, kept])
    await expect(query('delete from audit_entry where id = $1', kept.id)).rejects.toThrow('append-only')
    await expect(gateway.database.pool.query('truncate audit_entry')).rejects.toThrow('append-only')
    expect((await query('delete from audit_entry where id = $1', gone.id)).rowCount).toBe(1)
  })
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

function names() {
  return { application: 'berth-console', organization: 'berth' }
}

/** What the customer did since they signed in. */
async function entries(token: string) {
  const items = await all(token)
  return items.filter(({ action, actor }) => action !== 'account.login' && actor === 'customer')
}

async function all(token: string) {
  return (await gateway.data(listAuditLog, { query: { page_size: 100 } }, { token })).items
}

async function statusOf(token: string, id: string) {
  const list = await gateway.data(listInstances, {}, { token })
  return list.find(one => one.instance_id === id)?.status
}

/** A customer whose address is not verified. */
async function signUpByForm(email = `${randomUUID()}@example.org`): Promise<string> {
  const body = {
    ...names(),
    username: email,
    email,
    name: 'New',
    password: PASSWORD,
    agreement: true as const,
  }
  await gateway.data(signup, { body })
  const form = { ...names(), type: 'token' as const, username: email, password: PASSWORD }
  return (await gateway.data(login, { body: form })) ?? ''
}

function entry(part: Partial<typeof auditEntry.$inferInsert> = {}) {
  const base = {
    id: randomUUID(),
    userId: randomUUID(),
    actor: 'customer',
    action: 'a',
    at: new Date(),
  } as const
  return { ...base, ...part }
}

/** In order. */
function uuidOf(index: number): string {
  return `01890000-0000-7000-8000-00000000000${index}`
}
