import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { getAccount, listMailbox, login, signup, verifyEmail } from '@berth/contract/account'
import { getBalance } from '@berth/contract/billing'
import { deployInstance, listInstances } from '@berth/contract/instances'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { builtGateway } from '../../../scripts/test/built-gateway.ts'
import { probeSandbox } from '../src/drivers/compute/sandbox/probe-sandbox.ts'
import { makeQuickFolder } from './quick-folder.ts'
import { sendCall } from './start-gateway.ts'
import { createTestDatabase, type TestDatabase } from './test-database.ts'

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

describe.each(['embedded', 'DATABASE_URL'] as const)(
  '[R6.5] backup and restore, with the database %s',
  kind => {
    test('bring back accounts, money, instances and images after everything was destroyed', async ctx => {
      const sandbox = await probeSandbox()
      if (!sandbox.ok) return ctx.skip(`no sandbox here: ${sandbox.why}`)
      const file = join(folder, 'backup.tar.gz')
      let database: TestDatabase | null = kind === 'embedded' ? null : await createTestDatabase()
      const settings = () => ({ ...(database ? { DATABASE_URL: database.url } : {}) })

      const first = await start(settings())
      await signUp(first.origin)
      await operate(settings(), 'customers', 'credit', EMAIL, '--amount', '12.34', '--kind', 'bonus')
      const token = await signIn(first.origin)
      const body = {
        ...{ name: 'mine', region_code: 'us-west', gpu_spec_id: 'cpu', gpu_count: 1 },
        ...{ image_id: 'berth-base', container_disk_gb: 20 },
      }
      await sendCall(first.origin, deployInstance, { body }, { token })
      const blob = join(folder, 'data/images', BLOB_NAME)
      mkdirSync(dirname(blob), { recursive: true })
      writeFileSync(blob, BLOB)
      const before = await seen(first.origin, token)
      expect(before.instances).toMatchObject([{ name: 'mine' }])

      // While it runs.
      const { out } = await operate(settings(), 'backup', 'create', file)
      expect(out).toContain('is whole')
      expect(statSync(file).mode & 0o777).toBe(0o600)
      // Nobody who has the file has the key.
      const { master_key } = JSON.parse(readFileSync(join(folder, 'data/secrets.json'), 'utf8'))
      const plain = gunzipSync(readFileSync(file))
      expect(plain.includes(master_key)).toBe(false)
      const refused = await operate(settings(), 'backup', 'create', file).catch(error => error)
      expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('is there already') })
      // A gateway that runs has what it would replace.
      const over = ['backup', 'restore', file, '--replace', '--yes']
      expect(await operate(settings(), ...over).catch(error => error)).not.toMatchObject({ code: 0 })
      await stop(first.child)

      rmSync(join(folder, 'data'), { recursive: true })
      await database?.drop()
      database = database && (await createTestDatabase())
      const damaged = join(folder, 'damaged.tar.gz')
      const at = plain.indexOf(EMAIL)
      plain.writeUInt8((plain[at] ?? 0) ^ 1, at)
      writeFileSync(damaged, gzipSync(plain))
      const odd = await operate(settings(), 'backup', 'restore', damaged).catch(error => error)
      expect(odd).toMatchObject({ code: 1, stderr: expect.stringContaining('damaged') })
      if (kind === 'embedded') {
        const wrong = { ...settings(), BERTH_BACKUP_PASSPHRASE: 'another passphrase' }
        const refusal = await operate(wrong, 'backup', 'restore', file).catch(error => error)
        expect(refusal).toMatchObject({ code: 1, stderr: expect.stringContaining('passphrase') })
      }
      const dry = await operate(settings(), 'backup', 'restore', file, '--dry-run')
      expect(dry.out).toContain('Would be done')
      const restored = await operate(settings(), 'backup', 'restore', file)
      expect(restored.out).toContain('The books balance.')

      const second = await start(settings())
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
      expect((await operate(settings(), 'books', 'check')).out).toBe('The books balance.\n')
      expect((await operate(settings(), 'log', 'list')).out).toContain('backup restore')
      await stop(second.child)
      await database?.drop()
    })
  },
)

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

function environment(settings: Record<string, string>): Record<string, string> {
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

async function start(settings: Record<string, string>): Promise<{ child: ChildProcess; origin: string }> {
  const child = spawn(process.execPath, [MAIN], {
    ...{ cwd: folder, env: environment(settings) },
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

/** Types a command. @throws With `code` and `stderr` where it does not end well. */
async function operate(
  settings: Record<string, string>,
  ...words: string[]
): Promise<{ out: string; err: string }> {
  return await new Promise((done, fail) => {
    const options = { cwd: folder, env: environment(settings) }
    execFile(process.execPath, [OPERATOR, ...words], options, (error, out, err) =>
      error ? fail(Object.assign(error, { stderr: err })) : done({ out, err }),
    )
  })
}
