import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer, text } from 'node:stream/consumers'
import pty from '@lydell/node-pty'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../src/domains/reach/reach-fixture.ts'
import { probeSandbox } from '../src/drivers/compute/sandbox/probe-sandbox.ts'
import { createSandboxEngine } from '../src/drivers/compute/sandbox/sandbox-engine.ts'
import { hasProgram, resultOf, type SshClient } from './ssh-client.ts'
import { startSshInstance } from './ssh-instance.ts'
import { sshProcessOf } from './ssh-process.ts'
import { startGateway, type TestGateway } from './start-gateway.ts'

const SETUP_MS = 180_000
const INPUT_BYTES = 2_000_000
/** What `rsync` says of a file that has not changed, and what it asks for it. */
const UNCHANGED_BYTES_MAX = 2_000

const sandbox = await probeSandbox()
const missing = sandbox.ok ? (hasProgram('ssh') ? null : 'OpenSSH’s client is not installed') : sandbox.why
if (missing !== null) process.stdout.write(`SKIP habits of clients of SSH: ${missing}\n`)

// Goal: what people's own clients do beside running a command works, or is refused so that they go on. Method: OpenSSH's
// clients and `rsync` against a real gateway, and one real machine of the sandbox that all tests share.
describe.skipIf(missing !== null)('clients of SSH', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-ssh-clients-'))
  let gateway: TestGateway
  let ssh: SshClient
  let key: string
  let at: string

  beforeAll(async () => {
    const dataDir = join(folder, 'machines')
    const engine = await createSandboxEngine({ dataDir, log: pino({ level: 'silent' }) })
    gateway = await startGateway({ compute: engine, sshPort: 0 })
    ;({ ssh, key, at } = await startSshInstance(gateway, folder))
  }, SETUP_MS)
  afterAll(async () => {
    await gateway?.stop()
    rmSync(folder, { recursive: true, force: true })
  }, SETUP_MS)

  const command = (line: string) => ssh.run('ssh', key, [at, line])

  test('[B1] a terminal is as large as the client’s, also after that has changed', async () => {
    const line = `trap 'echo "now $(stty size)"' WINCH; echo "first $(stty size)"; while :; do sleep 0.05; done`
    const args = ['-F', 'none', ...ssh.settings(key), '-tt', at, line]
    const client = pty.spawn('ssh', args, { cols: 100, rows: 30 })
    onTestFinished(() => client.kill())
    let said = ''
    client.onData(piece => {
      said += piece
    })
    await eventually('the first size', () => said.includes('first 30 100\r\n'))
    client.resize(132, 43)
    await eventually('the second size', () => said.includes('now 43 132\r\n'))
  })

  test('[B1] an agent is not forwarded, and its owner’s command runs', async () => {
    const socket = join(folder, 'agent')
    const agent = spawn('ssh-agent', ['-D', '-a', socket], { stdio: 'ignore' })
    onTestFinished(() => void agent.kill())
    await eventually('an agent', () => existsSync(socket))
    const args = ['-o', `ForwardAgent=${socket}`, at, 'echo "[$SSH_AUTH_SOCK]"']
    expect(await ssh.run('ssh', key, args)).toEqual({ code: 0, out: '[]\n', err: '' })
  })

  test('[B1] a client that asks for signs of life has them while nothing is said', async () => {
    // Without an answer it would end after two seconds.
    const args = ['-o', 'ServerAliveInterval=1', '-o', 'ServerAliveCountMax=1', at, 'sleep 4; echo done']
    expect(await ssh.run('ssh', key, args)).toEqual({ code: 0, out: 'done\n', err: '' })
  })

  test.skipIf(!hasProgram('rsync'))(
    '[B19] rsync carries both ways, takes away what is gone, and carries nothing twice',
    async () => {
      const shell = ['ssh', '-F', 'none', ...ssh.settings(key)].join(' ')
      const rsync = async (from: string, to: string) => {
        const args = ['-a', '--delete', '--stats', '--no-human-readable', '-e', shell, from, to]
        const { code, out, err } = await resultOf(spawn('rsync', args))
        expect([code, err]).toEqual([0, ''])
        const number = (what: string) => Number(new RegExp(`${what}: (\\d+)`).exec(out)?.[1])
        return {
          files: number('Number of regular files transferred'),
          bytes: number('Total bytes sent') + number('Total bytes received'),
        }
      }
      const from = join(folder, 'tree')
      mkdirSync(join(from, 'sub'), { recursive: true })
      const large = randomBytes(INPUT_BYTES)
      writeFileSync(join(from, 'sub', 'large'), large)
      for (const name of ['one', 'two']) writeFileSync(join(from, name), name)
      const first = await rsync(`${from}/`, `${at}:synced`)
      expect(first.files).toBe(3)
      expect(first.bytes).toBeGreaterThan(INPUT_BYTES)
      unlinkSync(join(from, 'two'))
      const second = await rsync(`${from}/`, `${at}:synced`)
      expect(second.files).toBe(0)
      expect(second.bytes).toBeLessThan(UNCHANGED_BYTES_MAX)
      expect((await command('ls synced')).out).toBe('one\nsub\n')
      // A change in the midst of a file is carried, and not the file. It is noticed by the file's time, in seconds.
      large.write('changed', INPUT_BYTES / 2)
      writeFileSync(join(from, 'sub', 'large'), large)
      utimesSync(join(from, 'sub', 'large'), 2e9, 2e9)
      expect((await rsync(`${from}/`, `${at}:synced`)).bytes).toBeLessThan(INPUT_BYTES / 10)

      const back = join(folder, 'back')
      mkdirSync(back)
      writeFileSync(join(back, 'stranger'), '')
      expect((await rsync(`${at}:synced/`, back)).files).toBe(2)
      expect(readdirSync(back).sort()).toEqual(['one', 'sub'])
      expect(readFileSync(join(back, 'sub', 'large')).equals(large)).toBe(true)
      const again = await rsync(`${at}:synced/`, back)
      expect(again.files).toBe(0)
      expect(again.bytes).toBeLessThan(UNCHANGED_BYTES_MAX)
    },
    SETUP_MS,
  )
  if (!hasProgram('rsync')) process.stdout.write('SKIP rsync carries both ways: it is not installed\n')

  test('[R2.23] a connection to a port ends in one direction, and goes on in the other', async () => {
    // One answers when its client has said all; the other says all at first, and then counts what comes.
    const listen = (port: number, work: string) => `perl -MSocket -e '$| = 1; socket($s,2,1,0);
      setsockopt($s,1,2,pack("i",1)); bind($s,pack("SnC4x8",2,${port},127,0,0,1)) or die; listen($s,5); print "up\\n";
      accept($c,$s); binmode $c; ${work}'`
    const count = '$n += $r while $r = sysread($c, $b, 65536);'
    const answers = ssh.start('ssh', key, [at, listen(8131, `${count} syswrite $c, "heard $n"; close $c`)])
    const counts = ssh.start('ssh', key, [
      at,
      listen(8132, `syswrite $c, "bye"; shutdown($c, 1); ${count} print "heard $n\\n"`),
    ])
    const counted = resultOf(counts)
    onTestFinished(() => void [answers, counts].map(child => child.kill()))
    await Promise.all([answers, counts].map(child => once(child.stdout, 'data')))
    const [one, other] = [join(folder, 'answers'), join(folder, 'counts')]
    const ways = ['-L', `${one}:localhost:8131`, '-L', `${other}:localhost:8132`]
    const tunnel = ssh.start('ssh', key, ['-T', ...ways, at, 'echo up; cat'])
    onTestFinished(() => void tunnel.kill())
    await once(tunnel.stdout, 'data')
    const reach = (path: string) => connect({ path, allowHalfOpen: true })
    const asking = reach(one)
    asking.end(Buffer.alloc(INPUT_BYTES))
    expect(await text(asking)).toBe(`heard ${INPUT_BYTES}`)
    const told = reach(other)
    expect((await buffer(told)).toString()).toBe('bye')
    told.end(Buffer.alloc(INPUT_BYTES))
    expect((await counted).out).toBe(`up\nheard ${INPUT_BYTES}\n`)
  })

  test('[R2.23] a server that ends by itself is back on its port, and known by the same keys', async () => {
    const before = await ssh.learnHost()
    const child = ssh.start('ssh', key, [at, 'echo up; sleep 3000'])
    const ended = resultOf(child)
    await once(child.stdout, 'data')
    process.kill(sshProcessOf(), 'SIGKILL')
    expect((await ended).code).toBe(255)
    await eventually('a server', async () => (await command('true')).code === 0)
    expect(await ssh.learnHost()).toEqual(before)
  })
})
