import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { getAccount, listMailbox, login, signup, verifyEmail } from '@berth/contract/account'
import { getBalance, topup } from '@berth/contract/billing'
import { deployInstance, listInstances } from '@berth/contract/instances'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { builtGateway } from '../../../scripts/test/built-gateway.ts'
import { probeSandbox } from '../src/drivers/compute/sandbox/probe-sandbox.ts'
import { openInstallation } from '../src/operator/open-installation.ts'
import type { Operated } from '../src/operator/operated.ts'
import { createOperatorFixture } from '../src/operator/type-commands-fixture.ts'
import { systemClock } from '../src/platform/clock.ts'
import { readConfig } from '../src/platform/config/config.ts'
import { systemIds } from '../src/platform/ids.ts'
import { makeQuickFolder } from './quick-folder.ts'
import { sendCall, startGateway } from './start-gateway.ts'
import { createTestDatabase } from './test-database.ts'

/** Goal: an installation whose data folder, or database, is destroyed is back as it was, from one file by one command. */

const MAIN = await builtGateway()
const OPERATOR = resolve(import.meta.dirname, '../src/operator/operator.ts')
// Starts take seconds, and many times that on a computer that does much else.
vi.setConfig({ testTimeout: 400_000 })

const PASSPHRASE = 'a passphrase of a test'
const EMAIL = 'ada@example.org'
const PASSWORD = 'Correct-Horse-7'
const BLOB = Buffer.from('a layer of an image')
const BLOB_NAME = join('blobs/sha256', createHash('sha256').update(BLOB).digest('hex'))

let folder: string
let running: ChildProcess[]
beforeEach(() => {
  folder = makeQuickFolder('backup')
  running = []
})
afterEach(async () => {
  for (const child of running) await stop(child)
  rmSync(folder, { recursive: true, force: true })
})

test('[R6.5] a backup brings back accounts, money, instances and images after the data folder was destroyed', async ctx => {
  const sandbox = await probeSandbox()
  if (!sandbox.ok) return ctx.skip(`no sandbox here: ${sandbox.why}`)
  const file = join(folder, 'backup.tar.gz')
  const first = await start()
  await signUp(first.origin)
  const token = await signIn(first.origin)
  const money = { amount: 12_34, currency: 'USD', platform_name: 'testcard', source: '4242 4242 4242 4242' }
  expect((await sendCall(first.origin, topup, { body: money } as never, { token })).httpStatus).toBe(200)
  const body = {
    ...{ name: 'mine', region_code: 'us-west', gpu_spec_id: 'cpu', gpu_count: 1 },
    ...{ image_id: 'berth-base', container_disk_gb: 20 },
  }
  await sendCall(first.origin, deployInstance, { body }, { token })
  const blob = putBlob()
  const before = await seen(first.origin, token)
  expect(before.balance).toBeGreaterThan(1_200)
  expect(before.instances).toMatchObject([{ name: 'mine' }])

  // While it runs, by the program itself.
  const { out } = await operate('backup', 'create', file)
  expect(out).toContain('is whole')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  // Nobody who has the file has the key.
  const { master_key } = JSON.parse(readFileSync(join(folder, 'data/secrets.json'), 'utf8'))
  const plain = gunzipSync(readFileSync(file))
  expect(plain.includes(master_key)).toBe(false)
  const operator = operatorHere()
  expect(await operator.type('backup', 'create', file)).toMatchObject({
    ...{ exit: 1, err: expect.stringContaining('is there already') },
  })
  // A gateway that runs has what it would replace.
  expect(await operator.type('backup', 'restore', file, '--replace', '--yes')).toMatchObject({
    exit: 5,
    out: '',
  })
  await stop(first.child)

  rmSync(join(folder, 'data'), { recursive: true })
  const damaged = join(folder, 'damaged.tar.gz')
  const at = plain.indexOf(EMAIL)
  plain.writeUInt8((plain[at] ?? 0) ^ 1, at)
  writeFileSync(damaged, gzipSync(plain, { level: 1 }))
  expect(await operator.type('backup', 'restore', damaged)).toMatchObject({
    ...{ exit: 1, err: expect.stringContaining('damaged') },
  })
  const stranger = operatorHere({ BERTH_BACKUP_PASSPHRASE: 'another passphrase' })
  expect(await stranger.type('backup', 'restore', file)).toMatchObject({
    ...{ exit: 1, err: expect.stringContaining('passphrase') },
  })
  expect((await operator.type('backup', 'restore', file, '--dry-run')).out).toContain('Would be done')
  expect(existsSync(join(folder, 'data/postgres'))).toBe(false)
  expect((await operate('backup', 'restore', file)).out).toContain('The books balance.')

  const second = await start()
  // The old session, and the old password.
  const after = await seen(second.origin, token)
  expect(after.account).toEqual(before.account)
  expect(after.instances.map(({ instance_id, name }) => [instance_id, name])).toEqual(
    before.instances.map(({ instance_id, name }) => [instance_id, name]),
  )
  expect(after.balance).toBeLessThanOrEqual(before.balance)
  expect(after.balance).toBeGreaterThan(before.balance - 100)
  expect(await signIn(second.origin)).toBeTruthy()
  expect(readFileSync(blob)).toEqual(BLOB)
  await booksAreWhole()
  await stop(second.child)
})

test('[R6.5] a backup brings back a database of DATABASE_URL, and replaces none that a gateway has', async () => {
  const file = join(folder, 'backup.tar.gz')
  const gateway = await startGateway()
  const settings = { DATABASE_URL: gateway.database.url }
  const { userId } = await gateway.signUp(EMAIL)
  await gateway.grant(userId, 1_234)
  const blob = putBlob()
  // Makes the installation's keys, sealed by that of the data folder.
  await (await openInstallation(readConfig(environment(settings)))).close()
  const operator = operatorHere(settings)
  const made = await operator.type('backup', 'create', file)
  expect(made).toMatchObject({ exit: 0, out: expect.stringContaining('is whole') })
  // It has written down that it runs.
  expect(await operator.type('backup', 'restore', file, '--replace', '--yes')).toMatchObject({
    ...{ exit: 1, err: expect.stringContaining('of its gateways run') },
  })
  await gateway.stop()

  rmSync(join(folder, 'data'), { recursive: true })
  const database = await createTestDatabase()
  const back = { DATABASE_URL: database.url }
  const elsewhere = operatorHere(back)
  const restored = await elsewhere.type('backup', 'restore', file)
  expect(restored).toMatchObject({ exit: 0, err: '', out: expect.stringContaining('The books balance.') })
  expect(await elsewhere.type('backup', 'restore', file)).toMatchObject({
    ...{ exit: 1, err: expect.stringContaining('say --replace') },
  })
  const { account_balance } = await booksAreWhole(back, ({ billing }) => billing.balance(userId))
  expect(account_balance.amount).toBe(1_234)
  expect(readFileSync(blob)).toEqual(BLOB)
  await database.drop()
})

/** A layer of an image, where images are stored. @returns Its path. */
function putBlob(): string {
  const blob = join(folder, 'data/images', BLOB_NAME)
  mkdirSync(dirname(blob), { recursive: true })
  writeFileSync(blob, BLOB)
  return blob
}

/** Types commands in this process, which loads the gateway once for all of them. */
function operatorHere(settings: Record<string, string> = {}, installation: Partial<Operated> = {}) {
  const config = readConfig(environment(settings))
  return createOperatorFixture({ clock: systemClock, ids: systemIds, config, installation })
}

/** Opens the installation with its own keys: its books balance, and its log has what was done. @returns What is asked of it. */
async function booksAreWhole<T>(
  settings: Record<string, string> = {},
  ask: (operated: Operated) => Promise<T> = async () => undefined as T,
): Promise<T> {
  const { operated, close } = await openInstallation(readConfig(environment(settings)))
  try {
    const operator = operatorHere(settings, operated)
    expect((await operator.type('books check')).out).toBe('The books balance.\n')
    expect((await operator.type('log list')).out).toContain('backup restore')
    return await ask(operated)
  } finally {
    await close()
  }
}

async function seen(origin: string, token: string) {
  const read = async <C extends Parameters<typeof sendCall>[1]>(call: C) => {
    const { envelope } = await sendCall(origin, call, {} as never, { token })
    if (envelope.status === 'error') throw new Error(envelope.code)
    return envelope.data
  }
  const balance = (await read(getBalance)) as { account_balance: { amount: number } }
  return {
    account: ((await read(getAccount)) as { id: string }).id,
    balance: balance.account_balance.amount,
    instances: (await read(listInstances)) as { instance_id: string; name: string }[],
  }
}

/** An account with a password whose address was verified by the link that was mailed. */
async function signUp(origin: string): Promise<void> {
  const names = { application: 'berth-console', organization: 'berth' }
  const made = await sendCall(origin, signup, {
    body: { ...names, username: EMAIL, email: EMAIL, password: PASSWORD, name: 'Ada', agreement: true },
  })
  expect(made.envelope).toMatchObject({ status: 'ok', data: expect.any(String) })
  const mailed = async () => {
    const { envelope } = await sendCall(origin, listMailbox, {})
    const mails = envelope.status === 'ok' ? envelope.data.items : []
    return /token=([\w-]+)/.exec(mails.map(({ text }) => text).join())?.[1] ?? ''
  }
  await expect.poll(mailed, { timeout: 60_000 }).not.toBe('')
  const query = { application: 'berth-console', token: await mailed() }
  expect((await sendCall(origin, verifyEmail, { query })).envelope).toMatchObject({ status: 'ok' })
}

async function signIn(origin: string): Promise<string> {
  const { envelope } = await sendCall(origin, login, {
    body: {
      ...{ application: 'berth-console', organization: 'berth', type: 'token' },
      ...{ username: EMAIL, password: PASSWORD },
    },
  })
  if (envelope.status === 'error') throw new Error(envelope.code)
  return envelope.data
}

function environment(settings: Record<string, string> = {}): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '',
    BERTH_PORT: '0',
    BERTH_SSH_PORT: '0',
    BERTH_S3_PORT: '0',
    BERTH_DATA_DIR: join(folder, 'data'),
    BERTH_COMPUTE: 'sandbox',
    BERTH_CAPTCHA: 'none',
    BERTH_DEMO: 'off',
    BERTH_FIND_MODELS: 'off',
    BERTH_BACKUP_PASSPHRASE: PASSPHRASE,
    ...settings,
  }
}

async function start(): Promise<{ child: ChildProcess; origin: string }> {
  const child = spawn(process.execPath, [MAIN], {
    ...{ cwd: folder, env: environment() },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.push(child)
  let text = ''
  const origin = await new Promise<string>((done, fail) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', chunk => {
        text += chunk
        const found = /Console\s+(http\S+)/.exec(text)?.[1]
        if (found !== undefined) done(found)
      })
    }
    child.once('exit', () => fail(new Error(`it ended:\n${text}`)))
  })
  return { child, origin }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise(done => child.once('exit', done))
  child.kill('SIGTERM')
  await ended
}

/** Runs the program. @throws With `code` and `stderr` where it does not end well. */
async function operate(...words: string[]): Promise<{ out: string; err: string }> {
  return await new Promise((done, fail) => {
    const options = { cwd: folder, env: environment() }
    execFile(process.execPath, [OPERATOR, ...words], options, (error, out, err) =>
      error ? fail(Object.assign(error, { stderr: err })) : done({ out, err }),
    )
  })
}
