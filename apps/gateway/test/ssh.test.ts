import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  deployInstance,
  getConnection,
  listInstances,
  startInstance,
  stopInstance,
} from '@berth/contract/instances'
import { addSshKey, removeSshKey } from '@berth/contract/ssh-keys'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deployBody } from '../src/domains/instances/instances-fixture.ts'
import { eventually } from '../src/domains/reach/reach-fixture.ts'
import { probeSandbox } from '../src/drivers/compute/sandbox/probe-sandbox.ts'
import { createSandboxEngine } from '../src/drivers/compute/sandbox/sandbox-engine.ts'
import { createSshClient, hasProgram, resultOf, type SshClient } from './ssh-client.ts'
import { startGateway, type TestGateway } from './start-gateway.ts'

const SETUP_MS = 180_000
const INPUT_BYTES = 2_000_000
const ODD_NAMES = ['-dash', 'a b', 'it\'s "$HOME" `id`', 'é漢', 'new\nline', '*', ' ', '\\n%s']

const sandbox = await probeSandbox()
const missing = sandbox.ok ? (hasProgram('ssh') ? null : 'OpenSSH’s client is not installed') : sandbox.why
if (missing !== null) process.stdout.write(`SKIP instances by SSH: ${missing}\n`)

// Goal: an instance by SSH, as customers reach it. Method: OpenSSH's own clients against a real gateway, and one real
// machine of the sandbox that all tests share.
describe.skipIf(missing !== null)('instances by SSH', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-ssh-'))
  let gateway: TestGateway
  let ssh: SshClient
  let token: string
  let userId: string
  let id: string
  let key: string
  let at: string

  const statusIs = (status: string) =>
    eventually(`the status ${status}`, async () => {
      const [one] = await gateway.data(listInstances, {}, { token })
      return one?.status === status
    })
  const addKey = async (line: string) =>
    (await gateway.data(addSshKey, { body: { name: '', public_key: line } }, { token })).id

  beforeAll(async () => {
    const engine = await createSandboxEngine({
      dataDir: join(folder, 'machines'),
      log: pino({ level: 'silent' }),
    })
    gateway = await startGateway({ compute: engine, sshPort: 0 })
    ;({ token, userId } = await gateway.signUp())
    await gateway.grant(userId, 1_000)
    const body = deployBody({ http_ports: [], tcp_ports: [] })
    ;({ instance_id: id } = await gateway.data(deployInstance, { body }, { token }))
    ssh = createSshClient({ folder, port: gateway.gateway.ssh?.port ?? 0 })
    const made = ssh.makeKey('laptop')
    key = made.file
    at = `${id}@127.0.0.1`
    await addKey(made.line)
    await statusIs('running')
  }, SETUP_MS)
  afterAll(async () => {
    await gateway?.stop()
    rmSync(folder, { recursive: true, force: true })
  }, SETUP_MS)

  const command = (line: string, input?: string | Buffer) => ssh.run('ssh', key, [at, line], input)

  test('[R2.23] the Connect dialog names the server by the keys that it shows', async () => {
    const shown = (await gateway.data(getConnection, { params: { id } }, { token })).ssh
    expect(shown).toMatchObject({ host: '127.0.0.1', port: gateway.gateway.ssh?.port, user: id })
    expect((await ssh.learnHost()).sort()).toEqual(
      shown?.fingerprints.map(({ fingerprint }) => fingerprint).sort(),
    )
  })

  test('[B1] a command has its input, two outputs, its code and its signal', async () => {
    expect(await command('echo out; echo err >&2; exit 7')).toEqual({ code: 7, out: 'out\n', err: 'err\n' })
    const counted = await command('wc -c', Buffer.alloc(INPUT_BYTES, 'x'))
    expect(counted).toMatchObject({ code: 0, out: `${INPUT_BYTES}\n`, err: '' })
    const poured = await command(`head -c ${INPUT_BYTES} /dev/zero`)
    expect([poured.code, poured.out.length]).toEqual([0, INPUT_BYTES])
    expect(await ssh.run('ssh', key, ['-T', at], 'echo from the input\nexit 3\n')).toMatchObject({
      code: 3,
      out: 'from the input\n',
    })
    const killed = await command('kill -TERM $$')
    expect(killed.code).toBe(255)
    const given = await ssh.run('ssh', key, ['-o', 'SetEnv=LC_TEST=a PATH=b', at, 'echo "$LC_TEST|$PATH"'])
    expect(given.out).toMatch(/^a\|.*\/bin/)
  })

  test('[B1] a shell has a terminal of the client’s size, and ends with its code', async () => {
    const child = ssh.start('ssh', key, ['-tt', at])
    const result = resultOf(child)
    child.stdin.write('stty size; tty; echo "$TERM-end"; exit 5\n')
    const { code, out } = await result
    expect(code).toBe(5)
    expect(out).toMatch(/\/dev\/pts\/\d/)
    expect(out).toMatch(/\w-end\r\n/)
    child.stdin.end()
  })

  test('[B1] who has no right to come in is told what is wrong, and no more', async () => {
    const stranger = await ssh.run('ssh', ssh.makeKey('stranger').file, [at, 'true'])
    expect(stranger.code).toBe(255)
    expect(stranger.err).toContain('does not know the key SHA256:')
    expect(stranger.err).toContain('Permission denied (publickey)')
    const elsewhere = await ssh.run('ssh', ssh.makeKey('stranger').file, ['i-2222222@127.0.0.1', 'true'])
    expect(elsewhere.err).toBe(stranger.err.replaceAll(id, 'i-2222222'))

    const unknown = await ssh.run('ssh', key, ['i-2222222@127.0.0.1', 'true'])
    expect([unknown.code, unknown.err.trim()]).toEqual([
      255,
      expect.stringContaining('no instance i-2222222'),
    ])
    const other = await gateway.signUp()
    const theirs = ssh.makeKey('theirs')
    await gateway.data(addSshKey, { body: { name: '', public_key: theirs.line } }, { token: other.token })
    const foreign = await ssh.run('ssh', theirs.file, [at, 'true'])
    expect([foreign.code, foreign.err.trim()]).toEqual([255, expect.stringContaining(`no instance ${id}`)])
    const odd = await ssh.run('ssh', key, ['-l', 'a\u001b[31m;\u0007', '127.0.0.1', 'true'])
    expect(odd.err).not.toContain('\u001b')
  })

  test('[B1] keys of every kind let in; a key that is removed ends what was opened with it', async () => {
    for (const type of ['rsa', 'ecdsa']) {
      const made = ssh.makeKey(type, type)
      await addKey(made.line)
      expect(await ssh.run('ssh', made.file, [at, 'echo in'])).toMatchObject({ code: 0, out: 'in\n' })
    }
    const short = ssh.makeKey('short')
    const shortId = await addKey(short.line)
    const child = ssh.start('ssh', short.file, [at, 'echo up; sleep 3000'])
    const result = resultOf(child)
    await new Promise(resolve => child.stdout.once('data', resolve))
    await gateway.data(removeSshKey, { params: { id: shortId } }, { token })
    expect(await result).toMatchObject({
      code: 255,
      err: expect.stringContaining('was removed from your account'),
    })
    expect((await command('echo still')).out).toBe('still\n')
  })

  test('[B19] scp carries folders both ways, whatever their names, with rights and times', async () => {
    const from = join(folder, 'tree')
    mkdirSync(join(from, 'sub'), { recursive: true })
    for (const name of ODD_NAMES) writeFileSync(join(from, name), name)
    const bytes = randomBytes(INPUT_BYTES)
    const file = join(from, 'sub', 'bytes')
    writeFileSync(file, bytes, { mode: 0o640 })
    utimesSync(file, 1e9, 1e9)
    expect(await ssh.run('scp', key, ['-q', '-p', '-r', from, `${at}:up`])).toEqual({
      code: 0,
      out: '',
      err: '',
    })
    const back = join(folder, 'back')
    expect((await ssh.run('scp', key, ['-q', '-p', '-r', `${at}:up`, back])).code).toBe(0)
    expect(readdirSync(back).sort()).toEqual([...ODD_NAMES, 'sub'].sort())
    for (const name of ODD_NAMES) expect(readFileSync(join(back, name), 'utf8')).toBe(name)
    const { mode, mtimeMs } = statSync(join(back, 'sub', 'bytes'))
    expect([mode & 0o777, mtimeMs]).toEqual([0o640, 1e12])
    expect(readFileSync(join(back, 'sub', 'bytes')).equals(bytes)).toBe(true)
    if (hasProgram('rsync')) {
      const shell = ['ssh', '-F', 'none', ...ssh.settings(key)].join(' ')
      const args = ['-a', '-e', shell, `${from}/`, `${at}:synced`]
      expect(await resultOf(spawn('rsync', args))).toMatchObject({ code: 0 })
      expect((await command('ls synced/sub')).out).toBe('bytes\n')
    } else process.stdout.write('SKIP rsync into an instance: it is not installed\n')
  })

  test('[B19] sftp makes, renames, links, goes on and removes, and says what it cannot', async () => {
    const whole = join(folder, 'whole')
    const half = join(folder, 'half')
    writeFileSync(whole, randomBytes(INPUT_BYTES))
    writeFileSync(half, readFileSync(whole).subarray(0, INPUT_BYTES / 2))
    const sftp = (...lines: string[]) => ssh.run('sftp', key, ['-q', '-b', '-', at], `${lines.join('\n')}\n`)
    const made = await sftp(
      'mkdir made',
      `put ${half} made/one`,
      `reput ${whole} made/one`,
      'rename made/one made/two',
      'ln -s two made/link',
      'chmod 600 made/two',
      `get made/link ${folder}/got`,
      `reget made/two ${half}`,
      'ls -l made',
    )
    expect([made.code, made.err]).toEqual([0, ''])
    expect(made.out).toMatch(/-rw------- .* 2000000 .* two/)
    for (const name of ['got', 'half']) {
      expect(readFileSync(join(folder, name)).equals(readFileSync(whole))).toBe(true)
    }
    for (const [line, fault] of [
      ['get made/none', 'not found'],
      ['mkdir made', 'Failure'],
      ['rmdir made', 'Failure'],
      [`put ${whole} made/none/x`, 'No such file'],
    ] as const) {
      expect(await sftp(line)).toMatchObject({ code: 1, err: expect.stringContaining(fault) })
    }
    expect((await sftp('rm made/link', 'rm made/two', 'rmdir made')).code).toBe(0)
    expect((await command('ls -d made')).code).not.toBe(0)
  })

  test('[B1] ten sessions go over one connection', async () => {
    const socket = join(folder, 'master')
    const open = () => gateway.gateway.reach.ssh?.count().customers
    await eventually('no connection', () => open() === 0)
    const master = ssh.start('ssh', key, ['-M', '-S', socket, '-N', at])
    const ended = resultOf(master)
    await eventually('a master connection', () => existsSync(socket))
    const said = await Promise.all(
      Array.from({ length: 10 }, (_, index) => ssh.run('ssh', key, ['-S', socket, at, `echo ${index}`])),
    )
    expect(said.map(({ out }) => out)).toEqual(said.map((_, index) => `${index}\n`))
    expect(open()).toBe(1)
    master.kill()
    await ended
  })

  test(
    '[B1] a machine that stops ends what is open, and says so to who comes then',
    async () => {
      const child = ssh.start('ssh', key, [at, 'echo up; sleep 3000'])
      const result = resultOf(child)
      await new Promise(resolve => child.stdout.once('data', resolve))
      await gateway.data(stopInstance, { params: { id } }, { token })
      expect(await result).toMatchObject({ code: 255, err: expect.stringContaining('does not run any more') })
      await statusIs('stopped')
      const late = await command('true')
      expect([late.code, late.err]).toEqual([255, expect.stringContaining('does not run')])
      const body = { instance_id: id, gpu_spec_id: 'cpu', gpu_count: 1 }
      await gateway.data(startInstance, { body }, { token })
      await statusIs('running')
      expect((await command('echo again')).out).toBe('again\n')
    },
    SETUP_MS,
  )
})
