import { randomBytes, randomUUID } from 'node:crypto'
import { ORGANIZATION, updateUser } from '@berth/contract/account'
import { getBalance } from '@berth/contract/billing'
import { deployInstance, listInstances } from '@berth/contract/instances'
import { setPaypalAccount } from '@berth/contract/referral'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createMailDesk } from '../src/drivers/mail/mail-desk.ts'
import { createOperatorFixture } from '../src/operator/type-commands-fixture.ts'
import { systemClock } from '../src/platform/clock.ts'
import { sha256Hex } from '../src/platform/hash.ts'
import { systemIds } from '../src/platform/ids.ts'
import { createKeptSecrets } from '../src/platform/installation/kept-secrets.ts'
import { createReferralPeople } from './referral-people.ts'
import { startGateway, type TestGateway } from './start-gateway.ts'

/** Goal: what an operator types is what becomes of a running installation, by its own calls. */

let gateway: TestGateway
let operator: ReturnType<typeof createOperatorFixture>
beforeAll(async () => {
  gateway = await startGateway()
  const kept = createKeptSecrets({
    ...{ db: gateway.database.db, clock: systemClock, ids: systemIds },
    log: { info: () => {}, warn: () => {} },
    masterKeys: [randomBytes(32)],
  })
  await kept.load(null)
  const { operators } = gateway.gateway.audit
  operator = createOperatorFixture({
    ...{ clock: systemClock, ids: systemIds },
    installation: {
      ...gateway.gateway,
      keys: kept,
      mails: createMailDesk({ db: gateway.database.db }),
    },
    config: { publicUrl: null },
    operators: { begin: entry => operators.begin({ ...entry, who: 'ops@host' }) },
  })
})
afterAll(async () => {
  expect(await gateway.gateway.billing.checkBooks()).toEqual([])
  await gateway.stop()
})

const DEPLOY = {
  name: 'mine',
  region_code: 'us-west',
  gpu_spec_id: 'cpu',
  gpu_count: 1,
  image_id: 'berth-base',
  container_disk_gb: 20,
}
const statusOf = async (token: string) =>
  (await gateway.data(listInstances, {}, { token })).map(({ status }) => status)

test('[R6.5] a customer is found by number, address, id and parts of an address, and shown with what they have', async () => {
  const name = `ada-${randomUUID()}`
  const { userId, token } = await gateway.signUp(`${name}@example.org`)
  await gateway.grant(userId, 1_234)
  await gateway.data(deployInstance, { body: DEPLOY }, { token })
  const [found] = (await operator.json('customers', 'find', name)) as { number: number; user_id: string }[]
  expect(found).toMatchObject({ user_id: userId })
  for (const typed of [`${name}@EXAMPLE.org`, userId, String(found?.number), name.toUpperCase()]) {
    expect(await operator.json('customers', 'find', typed), typed).toEqual([found])
  }
  // What a pattern would obey is a letter here.
  expect((await operator.type('customers', 'find', '%')).out).toBe('Nobody is found.\n')
  const { out } = await operator.type('customers', 'show', name.concat('@example.org'))
  expect(out).toMatch(/Balance +\$12\.\d\d, of which/)
  expect(out).toMatch(/Open sessions +1\n/)
  expect(out).toMatch(/INSTANCE +NAME +STATUS/)
  expect(await operator.type('customers', 'show', 'nobody@example.org')).toMatchObject({ exit: 3, out: '' })
})

test('[R6.5] a suspended customer is kept out, what runs is stopped, and resume lets them in again', async () => {
  const { userId, email, token } = await gateway.signUp()
  await operator.type('customers', 'credit', email, '--amount', '20', '--kind', 'bonus')
  await gateway.data(deployInstance, { body: DEPLOY }, { token })
  await expect.poll(() => statusOf(token), { timeout: 20_000 }).toEqual(['running'])
  // A name that was not typed destroys nothing.
  const words = ['customers', 'suspend', email, '--reason', 'case 17', '--at-once']
  expect(await operator.type(...words)).toMatchObject({ exit: 4, out: '' })
  expect(await operator.type(...words, '--confirm', 'eve@example.org')).toMatchObject({ exit: 4 })
  expect(await statusOf(token)).toEqual(['running'])
  const done = await operator.type(...words, '--confirm', email)
  expect(done).toMatchObject({ exit: 0, out: expect.stringContaining('1 session ended') })

  const refused = await gateway.call(getBalance, {}, { token })
  expect(refused.envelope).toMatchObject({ status: 'error', code: 'login_expired' })
  const secret = await gateway.gateway.identity.createSignInLink(userId)
  const place = { address: '127.0.0.1', userAgent: 'test', stay: true }
  await expect(gateway.gateway.identity.signInByLink(secret, place)).rejects.toMatchObject({
    code: 'account_suspended',
  })
  // A loop stops it, as one that needs no customer.
  await expect
    .poll(async () => (await gateway.gateway.instances.list(userId))[0]?.status, { timeout: 30_000 })
    .toBe('stopped')
  const [instance] = await gateway.gateway.instances.list(userId)
  expect(instance?.reason?.code).toBe('stopped_by_operator')
  expect((await operator.type('customers', 'show', email)).out).toMatch(
    /Suspended .*case 17; what ran is stopped/,
  )

  expect(await operator.type('customers', 'resume', email)).toMatchObject({ exit: 0 })
  expect(await operator.type('customers', 'resume', email)).toMatchObject({ exit: 1 })
  const again = await gateway.gateway.identity.createSignInLink(userId)
  const fresh = await gateway.gateway.identity.signInByLink(again, place)
  expect(await statusOf(fresh)).toEqual(['stopped'])
  const entries = (await operator.json('log', 'list', '--customer', email)) as {
    command: string
    outcome: string
  }[]
  expect(entries.map(({ command, outcome }) => `${command} ${outcome}`)).toEqual([
    'customers resume done',
    'customers suspend done',
    'customers credit done',
  ])
})

test('[R6.5] calls in the name of a suspended customer are refused with a code of their own', async () => {
  const { userId, email } = await gateway.signUp()
  await operator.type('customers', 'suspend', email, '--reason', 'why', '--yes')
  const giving = operator.type('customers', 'credit', email, '--amount', '1', '--kind', 'bonus')
  expect(await giving).toMatchObject({ exit: 1 })
  expect((await operator.json('customers', 'show', userId)) as object).toMatchObject({
    suspension: { reason: 'why', machines_until: expect.any(String) },
    sessions: 0,
  })
})

test('[R6.5] an account is erased as its owner would, once nothing is in the way', async () => {
  const { userId, email, token } = await gateway.signUp()
  await gateway.grant(userId, 2_000)
  const { instance_id } = await gateway.data(deployInstance, { body: DEPLOY }, { token })
  const words = ['customers', 'erase', email, '--yes']
  expect(await operator.type(...words)).toMatchObject({ exit: 1, err: expect.stringContaining('1 instance') })
  await gateway.gateway.instances.terminate({ userId, instanceId: instance_id })
  await expect.poll(() => gateway.gateway.instances.list(userId), { timeout: 20_000 }).toEqual([])
  expect(await operator.type('customers', 'erase', email, '--dry-run')).toMatchObject({ exit: 0 })
  expect(await operator.type(...words)).toMatchObject({ exit: 0 })
  expect(await operator.type('customers', 'show', email)).toMatchObject({ exit: 3 })
  expect((await gateway.call(getBalance, {}, { token })).envelope).toMatchObject({ code: 'login_expired' })
})

test('[R6.5] of an account that is erased no table has an address, a name, a browser or a code any more', async () => {
  const people = createReferralPeople(gateway)
  const referrer = await gateway.signUp()
  const mark = randomUUID()
  const { code: ofReferrer } = await people.summaryOf(referrer)
  const customer = await people.signUpBy(ofReferrer, { device: mark, email: `erased-${mark}@erased.example` })
  const { token } = customer
  const renamed = { query: { id: `${ORGANIZATION}/${customer.email}`, columns: 'display_name' as const } }
  await gateway.data(updateUser, { ...renamed, body: { displayName: `Ada ${mark}` } }, { token })
  await gateway.data(setPaypalAccount, { body: { paypal_account: `pay-${mark}@erased.example` } }, { token })
  const { code } = await people.summaryOf(customer)
  await people.signUpBy(code, { email: `${randomUUID()}@friend.example` })
  await expect.poll(async () => (await people.recordsOf(customer)).total, { timeout: 20_000 }).toBe(1)
  // Their address, name and PayPal account; their browser; their link; whom they saw, and how others saw them.
  const named = [mark, sha256Hex(mark), code, '…@friend.example', '…@erased.example']
  for (const text of named) expect(await tablesWith(text), text).not.toEqual([])
  expect(code).toMatch(/^ada-/)
  expect(await operator.type('customers', 'erase', customer.email, '--yes')).toMatchObject({ exit: 0 })
  const left = async () =>
    (
      await Promise.all(named.map(async text => (await tablesWith(text)).map(table => `${table}: ${text}`)))
    ).flat()
  await expect.poll(left, { timeout: 20_000 }).toEqual([])
})

test('[R6.5] keys of tokens are replaced one after the other, or at once where that was confirmed', async () => {
  const keys = async () => (await operator.json('keys', 'list')) as { ends_at: string | null }[]
  expect(await keys()).toHaveLength(1)
  expect(await operator.type('keys rotate')).toMatchObject({ exit: 0 })
  expect((await keys()).map(({ ends_at }) => ends_at === null)).toEqual([true, false])
  expect(await operator.type('keys rotate --at-once')).toMatchObject({ exit: 4 })
  expect(await operator.type('keys rotate --at-once --confirm everybody')).toMatchObject({ exit: 0 })
  expect(await keys()).toHaveLength(1)
})

/** Tables that have a text in some row. */
async function tablesWith(text: string): Promise<string[]> {
  const { pool } = gateway.database
  const { rows } = await pool.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'public' order by 1`,
  )
  const found: string[] = []
  for (const { name } of rows) {
    // Mails that were sent are in a mailbox here, as they are elsewhere.
    if (name === 'mailbox_mail') continue
    // By which code somebody signed up is theirs to keep, whoever's it was.
    if (name === 'user_account' && /^ada-/.test(text)) continue
    const has = await pool.query(`select from "${name}" t where to_jsonb(t)::text ilike $1 limit 1`, [
      `%${text}%`,
    ])
    if (has.rowCount === 1) found.push(name)
  }
  return found
}
