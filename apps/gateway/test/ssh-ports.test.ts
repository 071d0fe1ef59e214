import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type OpenedEngine, REAL_ENGINES } from './real-engines.ts'
import {
  EDITOR_FOLDER,
  EDITOR_SERVER,
  type EditorChannel,
  freePort,
  openByPort,
  openBySocks,
  startScript,
} from './remote-editor.ts'
import { hasProgram, resultOf, type SshClient } from './ssh-client.ts'
import { startSshInstance } from './ssh-instance.ts'
import { startGateway, type TestGateway } from './start-gateway.ts'

const SETUP_MS = 180_000
const INPUT_BYTES = 2_000_000
/** Answers a line with a line, on the loopback alone as most programs do that people reach by SSH. */
const LISTENER = `perl -e '$| = 1; socket($s,2,1,0); setsockopt($s,1,2,pack("i",1));
  bind($s,pack("SnC4x8",2,8123,127,0,0,1)) or die; listen($s,5); print "up\\n";
  while (accept($c,$s)) { $l = <$c>; syswrite $c,"heard $l"; close $c }'`

const NO_WAY_BACK =
  'Ports are not forwarded from the instance to your computer (-R). From your computer to the instance they are: -L and -D.'

const places = REAL_ENGINES.map(({ missing, ...engine }) => ({
  ...engine,
  missing: missing ?? (hasProgram('ssh') ? null : 'OpenSSH’s client is not installed'),
}))
for (const { name, missing } of places) {
  if (missing !== null) process.stdout.write(`SKIP ports of an instance by SSH on ${name}: ${missing}\n`)
}

// Goal: what listens in a machine is reached by SSH, as people and editors do. Method: OpenSSH's own clients against a real
// gateway, and one real machine of each engine.
describe.each(places.filter(({ missing }) => missing === null))(
  'ports of an instance by SSH on $name',
  ({ open }) => {
    const folder = mkdtempSync(join(tmpdir(), 'berth-ssh-ports-'))
    let opened: OpenedEngine
    let gateway: TestGateway
    let ssh: SshClient
    let key: string
    let at: string

    beforeAll(async () => {
      opened = await open(folder)
      gateway = await startGateway({ compute: opened.engine, catalogue: opened.catalogue, sshPort: 0 })
      ;({ ssh, key, at } = await startSshInstance(gateway, folder))
    }, SETUP_MS)
    afterAll(async () => {
      await gateway?.stop()
      await opened?.end()
      rmSync(folder, { recursive: true, force: true })
    }, SETUP_MS)

    const command = (line: string) => ssh.run('ssh', key, [at, line])

    test('[R2.23] ports of the instance itself are reached, of nothing else, and none leads back', async () => {
      const child = ssh.start('ssh', key, [at, LISTENER])
      await new Promise(resolve => child.stdout.once('data', resolve))
      const way = (to: string, input: string) => ssh.run('ssh', key, ['-W', to, at], input)
      expect(await way('localhost:8123', 'one\n')).toMatchObject({ code: 0, out: 'heard one\n' })
      expect((await way('127.0.0.1:8124', '')).err).toContain('Nothing listens on that port')
      for (const host of ['169.254.169.254', '10.0.0.1', 'gateway', '0.0.0.0']) {
        expect((await way(`${host}:8123`, '')).err).toContain('Only ports of the instance itself')
      }
      // With a terminal and without.
      for (const shown of ['-tt', '-T']) {
        const back = await ssh.run('ssh', key, [shown, '-R', '8125:localhost:80', at, 'echo in'])
        expect(back.out.trim(), shown).toBe('in')
        expect(back.err, shown).toContain(NO_WAY_BACK)
      }
      child.kill()
    })

    test(
      '[B19] an editor works from afar: its server is copied, started and reached over SSH, and is found again after a cut',
      async () => {
        const from = join(folder, 'editor')
        mkdirSync(from)
        writeFileSync(join(from, 'server.pl'), EDITOR_SERVER)
        writeFileSync(join(from, 'bytes'), randomBytes(INPUT_BYTES))
        execFileSync('tar', ['-czf', join(folder, 'editor.tgz'), '-C', from, '.'])
        expect((await command(`mkdir -p ${EDITOR_FOLDER}`)).code).toBe(0)
        const copied = await ssh.run('scp', key, [
          '-q',
          join(folder, 'editor.tgz'),
          `${at}:${EDITOR_FOLDER}/`,
        ])
        expect(copied).toEqual({ code: 0, out: '', err: '' })

        /** Has the machine's shell start the server, over a connection that stays, with ways to ports. */
        const start = async (ways: string[]) => {
          const child = ssh.start('ssh', key, ['-T', '-o', 'ExitOnForwardFailure=yes', ...ways, at, 'sh'])
          const ended = resultOf(child)
          onTestFinished(() => void child.kill())
          child.stdin.write(startScript('editor.tgz'))
          let said = ''
          const known = new Promise<RegExpExecArray>(resolve => {
            child.stdout.on('data', piece => {
              said += piece
              const match = /port==(\d+)== server==(\d+)==/.exec(said)
              if (match) resolve(match)
            })
          })
          const failed = ended.then(({ err }) => Promise.reject(new Error(err)))
          failed.catch(() => undefined)
          const [, port, server] = await Promise.race([known, failed])
          return { child, ended, port: Number(port), server: String(server) }
        }
        const hear = async (channel: EditorChannel, session: string) => {
          channel.say(session)
          return (await channel.line()).trim()
        }

        const socks = await freePort()
        const first = await start(['-D', `127.0.0.1:${socks}`])
        const channels = await Promise.all(
          ['localhost', '127.0.0.1', 'localhost', 'localhost'].map(host =>
            openBySocks(socks, host, first.port),
          ),
        )
        // Each by itself and all at once, and more than fits into a window.
        const said = await Promise.all(channels.map((channel, index) => hear(channel, `session${index}`)))
        expect(said).toEqual(channels.map(() => `server ${first.server}, visit 1`))
        await Promise.all(
          channels.map(async (channel, index) => {
            const lines = Array.from({ length: 40 }, (_, line) => `${index}.${line} ${'x'.repeat(60_000)}`)
            for (const line of lines) channel.say(line)
            for (const line of lines) expect((await channel.line()).trimEnd() === line).toBe(true)
          }),
        )
        // Some versions of OpenSSH say yes before they have asked the server, and then cut it.
        const elsewhere = openBySocks(socks, 'example.org', 443).then(channel => channel.line())
        await expect(elsewhere).rejects.toThrow()

        // The network goes: whoever was connected hears of it, and the server in the machine does not mind.
        first.child.kill('SIGKILL')
        await first.ended
        await Promise.all(channels.map(({ closed }) => closed))
        const port = await freePort()
        const again = await start(['-L', `127.0.0.1:${port}:localhost:${first.port}`])
        expect([again.port, again.server]).toEqual([first.port, first.server])
        const back = await openByPort(port)
        expect(await hear(back, 'session0')).toBe(`server ${first.server}, visit 2`)
        back.close()
        again.child.stdin.end()
        expect((await again.ended).code).toBe(0)
        expect((await command(`kill ${first.server}`)).code).toBe(0)
      },
      SETUP_MS,
    )
  },
)
