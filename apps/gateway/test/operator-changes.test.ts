import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deployInstance } from '@berth/contract/instances'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createMailDesk } from '../src/drivers/mail/mail-desk.ts'
import { COMMANDS } from '../src/operator/commands.ts'
import { createOperatorFixture } from '../src/operator/type-commands-fixture.ts'
import { systemClock } from '../src/platform/clock.ts'
import { readConfig } from '../src/platform/config/config.ts'
import { systemIds } from '../src/platform/ids.ts'
import { createKeptSecrets } from '../src/platform/installation/kept-secrets.ts'
import { startGateway, type TestGateway } from './start-gateway.ts'

/** Goal: every command that changes something says first what it would do, does it when it is meant, and is written down. */

let gateway: TestGateway
let operator: ReturnType<typeof createOperatorFixture>
let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-operator-'))
  // What is posted while a command is looked at would be taken for its work.
  gateway = await startGateway({ meteringMs: 3_600_000 })
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
    config: {
      ...readConfig({}),
      dataDir: folder,
      sandboxDir: join(folder, 'machines'),
      databaseUrl: gateway.database.url,
      masterKey: Buffer.alloc(32, 3).toString('base64'),
    },
    operators: { begin: entry => operators.begin({ ...entry, who: 'ops@host' }) },
  })
})
afterAll(async () => {
  await gateway.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** Changing commands with what must be there for them. One that is missing here fails the first test below. */
const MADE: Record<string, () => Promise<string[]>> = {
  'customers credit': async () => [await customer(), '--amount', '5', '--kind', 'bonus'],
  'customers suspend': async () => [await customer(), '--reason', 'why'],
  'customers resume': async () => {
    const email = await customer()
    await operator.type('customers', 'suspend', email, '--reason', 'why', '--yes')
    return [email]
  },
  'customers erase': async () => [await customer()],
  'credits give': async () => [await customer(), '--amount', '5', '--kind', 'bonus'],
  'coupons create': async () => [code(), '--amount', '5', '--currency', 'USD'],
  'coupons close': async () => {
    const name = code()
    await operator.json('coupons', 'create', name, '--amount', '5', '--currency', 'USD')
    return [name]
  },
  'instances evacuate': async () => {
    const { userId, token } = await gateway.signUp()
    await gateway.grant(userId, 2_000)
    const body = { name: 'mine', region_code: 'us-west', gpu_spec_id: 'cpu', gpu_count: 1 }
    await gateway.data(
      deployInstance,
      { body: { ...body, image_id: 'berth-base', container_disk_gb: 20 } },
      { token },
    )
    await expect
      .poll(async () => (await gateway.gateway.instances.list(userId))[0]?.status, { timeout: 20_000 })
      .toBe('running')
    return ['us-west', '--while-open']
  },
  'instances move': async () => ['us-west'],
  'regions drain': async () => ['eu-frankfurt'],
  'regions undrain': async () => {
    await operator.json('regions', 'drain', 'ap-singapore')
    return ['ap-singapore']
  },
  'catalogue apply': async () => {
    const file = join(folder, `${code()}.yaml`)
    const shipped = readFileSync(readConfig({}).catalogueFile, 'utf8')
    writeFileSync(file, shipped.replace('id: berth/demo-vision', 'id: berth/other-vision'))
    return [file]
  },
  'mail retry': async () => [],
  'keys rotate': async () => [],
  'backup create': async () => [join(folder, `${code()}.tar.gz`)],
}

/** Of these, tests beside their domains type each line: images that wait for a review, payments, a whole installation. */
const ELSEWHERE: ReadonlySet<string> = new Set([
  'images approve',
  'images reject',
  'images close-reports',
  'images take-down',
  'refunds create',
  'payouts export',
  'payouts mark-paid',
  'payouts mark-failed',
  'backup restore',
])

const code = () => `C-${randomBytes(4).toString('hex').toUpperCase()}`
const customer = async () => (await gateway.signUp()).email

test('[R6.5] every command that changes something is tried here, or where its things are made', () => {
  const changing = COMMANDS.filter(({ changes }) => changes).map(({ noun, verb }) => `${noun} ${verb}`)
  expect([...Object.keys(MADE), ...ELSEWHERE].sort()).toEqual(changing.sort())
})

test('[R6.5] every change is written down by what carries it out, but for a restore, which replaces the log', () => {
  const silent = COMMANDS.filter(command => command.changes && command.logged === false)
  expect(silent.map(({ noun, verb }) => `${noun} ${verb}`)).toEqual(['backup restore'])
})

describe.each(Object.entries(MADE))('[R6.5] %s', (name, make) => {
  test('changes nothing with --dry-run, then does what it said, and is written down', async () => {
    const words = [...name.split(' '), ...(await make())]
    const command = COMMANDS.find(({ noun, verb }) => `${noun} ${verb}` === name)
    await settled()
    const before = await sumOfTables()
    const dry = await operator.type(...words, '--dry-run')
    expect(dry).toMatchObject({ exit: 0, err: '', out: expect.stringContaining('Would be done: ') })
    expect(await sumOfTables()).toEqual(before)

    const destroys = command?.changes === true && command.destroys && name !== 'keys rotate'
    if (destroys) {
      expect(await operator.type(...words)).toMatchObject({ exit: 4, out: '' })
      expect(await sumOfTables()).toEqual(before)
    }
    expect(await operator.type(...words, ...(destroys ? ['--yes'] : []))).toMatchObject({ exit: 0 })
    const [last] = (await operator.json('log', 'list', '--last', '1')) as object[]
    expect(last).toMatchObject({ command: name, outcome: 'done', who: 'ops@host' })
  })
})

test('[R6.5] a change that fails is written down with why, and one entry is never changed again', async () => {
  const file = join(folder, 'there')
  writeFileSync(file, '')
  expect(await operator.type('backup', 'create', file)).toMatchObject({ exit: 1 })
  expect(await operator.type('backup', 'create', join(folder, 'no', 'folder', 'x'))).toMatchObject({
    exit: 5,
  })
  const [last] = (await operator.json('log', 'list', '--last', '1')) as object[]
  expect(last).toMatchObject({ command: 'backup create', outcome: 'failed' })
  const tamper = gateway.database.db.execute(sql`update operator_entry set who = 'eve@host'`)
  await expect(tamper).rejects.toMatchObject({ cause: { message: expect.stringContaining('append-only') } })
})

/** What loops write by themselves is no command's. */
const OF_LOOPS = ['lease', 'gateway', 'engine_reach', 'engine', 'rate_count', 'public_ip', 'mailbox_mail']

const WITHOUT_LOOKS = `to_jsonb(t) - '{observed_at,last_seen_at}'::text[]`

async function sumOfTables(): Promise<Record<string, string>> {
  const { rows } = await gateway.database.pool.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'public' order by 1`,
  )
  const sums: Record<string, string> = {}
  for (const { name } of rows) {
    if (OF_LOOPS.some(word => name === word || name.startsWith('sample'))) continue
    // Of instances, what looks at them is noted all the time.
    const what = name === 'instance' ? `array[t.id, t.name, t.desired, t.status]` : WITHOUT_LOOKS
    const { rows: all } = await gateway.database.pool.query(
      `select ${what} as row from "${name}" t order by 1`,
    )
    sums[name] = createHash('sha256').update(JSON.stringify(all)).digest('hex')
  }
  return sums
}

/** Mails and events of what was made for the command have gone out, and what the audit log writes behind answers is there. */
async function settled(): Promise<void> {
  // Whoever reads it waits for that.
  await gateway.gateway.audit.list(randomUUID(), { page: 1, page_size: 1, action: '' })
  const waiting = async () =>
    (await gateway.database.pool.query(`select from pgboss.job where state < 'completed'`)).rowCount
  await expect.poll(waiting, { timeout: 20_000 }).toBe(0)
  // What the command before has stopped is charged when it has.
  const stopping = async () =>
    (
      await gateway.database.pool.query(
        `select from instance where desired = 'stopped' and status <> 'stopped'`,
      )
    ).rowCount
  await expect.poll(stopping, { timeout: 20_000 }).toBe(0)
}
