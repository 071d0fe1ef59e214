import { randomBytes } from 'node:crypto'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, isIP } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { diagnoseConnection } from '@berth/contract/connection-doctor'
import { listFiles, makeFolder, planUpload } from '@berth/contract/files'
import {
  deployInstance,
  getConnection,
  listInstances,
  startWebTerminal,
  stopInstance,
  stopWebTerminal,
} from '@berth/contract/instances'
import { addSshKey, removeSshKey } from '@berth/contract/ssh-keys'
import { TERMINAL_CLOSE } from '@berth/contract/terminal'
import { pino } from 'pino'
import ssh2 from 'ssh2'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deployBody } from '../src/domains/instances/instances-fixture.ts'
import { filesOf } from '../src/domains/reach/files/files-fixture.ts'
import { eventually, openTerminal } from '../src/domains/reach/reach-fixture.ts'
import { makeGuest } from '../src/drivers/compute/qemu/guest-fixture.ts'
import { createQemuEngine } from '../src/drivers/compute/qemu/qemu-engine.ts'
import { shippedCatalogue } from './shipped-catalogue.ts'
import { createSshClient, hasProgram, resultOf, type SshClient } from './ssh-client.ts'
import { startGateway, type TestGateway } from './start-gateway.ts'

const SETUP_MS = 180_000
const INPUT_BYTES = 300_000

/** A name server that knows one answer. */
const NAME_SERVER =
  'socket(S,2,2,0);bind(S,pack("Sna4x8",2,5353,"\\0\\0\\0\\0"))or die;while(defined($f=recv(S,$q,512,0))){' +
  '($n)=substr($q,12)=~/^(.*?\\0....)/s;send(S,substr($q,0,2)."\\x81\\x80\\0\\1\\0\\1\\0\\0\\0\\0".$n.' +
  '"\\xc0\\x0c\\0\\1\\0\\1\\0\\0\\0\\1\\0\\4".pack("C4",203,0,113,9),0,$f)}'

const folder = mkdtempSync(join(tmpdir(), 'berth-vm-ssh-'))
const found = await makeGuest(join(folder, 'guest'), { ssh: true })
const missing = found.ok ? (hasProgram('ssh') ? null : 'OpenSSH’s client is not installed') : found.why
if (missing !== null) process.stdout.write(`SKIP virtual machines by SSH: ${missing}\n`)

// Goal: a virtual machine by SSH, as customers reach it. Method: OpenSSH's own clients against a real gateway, and one
// real Linux under QEMU, with OpenSSH's own server, that all tests share.
describe.skipIf(missing !== null)('virtual machines by SSH', () => {
  let gateway: TestGateway
  let ssh: SshClient
  let token: string
  let id: string
  let key: string
  let at: string

  const statusIs = (status: string) =>
    eventually(`the status ${status}`, async () => {
      const [one] = await gateway.data(listInstances, {}, { token })
      return one?.status === status
    })
  const findings = async () =>
    (await gateway.data(diagnoseConnection, { params: { id } }, { token })).findings.map(({ code }) => code)

  beforeAll(async () => {
    if (!found.ok) return
    const { disk, kernel, initrd, cmdline } = found.guest
    const qemu = { file: disk, kernel: { file: kernel }, initrd: { file: initrd }, cmdline }
    const catalogue = shippedCatalogue()
    const [plain] = catalogue.images
    if (!plain) throw new Error('the catalogue has no image')
    const image = { ...plain, id: 'linux', kind: 'VM' as const, recipe: { qemu } }
    const engine = await createQemuEngine({
      dataDir: join(folder, 'machines'),
      log: pino({ level: 'silent' }),
      stopGraceMs: 2_000,
    })
    gateway = await startGateway({
      compute: engine,
      sshPort: 0,
      catalogue: { ...catalogue, images: [...catalogue.images, image] },
    })
    const customer = await gateway.signUp()
    token = customer.token
    await gateway.grant(customer.userId, 1_000)
    ssh = createSshClient({ folder, port: gateway.gateway.ssh?.port ?? 0 })
    await ssh.learnHost()
    const made = ssh.makeKey('laptop')
    key = made.file
    await gateway.data(addSshKey, { body: { name: '', public_key: made.line } }, { token })
    const body = deployBody({
      kind: 'VM',
      image_id: 'linux',
      container_disk_gb: 30,
      http_ports: [],
      tcp_ports: [],
      udp_ports: [5353],
      start_command: 'httpd -p 127.0.0.1:8081 -h /etc; exec httpd -f -p 8080 -h /etc',
    })
    ;({ instance_id: id } = await gateway.data(deployInstance, { body }, { token }))
    at = `${id}@127.0.0.1`
    await statusIs('running')
    await eventually('the machine to let in', async () => (await command('true')).code === 0, SETUP_MS)
  }, SETUP_MS)
  afterAll(async () => {
    await gateway?.stop()
    rmSync(folder, { recursive: true, force: true })
  }, SETUP_MS)

  const command = (line: string, input?: string | Buffer) => ssh.run('ssh', key, [at, line], input)

  test('[R2.23] [B8] the Connect dialog says who one is there, and the doctor that a shell answers', async () => {
    const shown = (await gateway.data(getConnection, { params: { id } }, { token })).ssh
    expect(shown).toMatchObject({ user: id, own_server: true })
    const said = await findings()
    expect(said).toEqual(expect.arrayContaining(['signed_in', 'shell_works', 'port_undeclared']))
    expect(said).not.toContain('guest_closed')
  })

  test('[B1] a command runs as root with its input, two outputs, its code and its variables', async () => {
    expect(await command('id -u; echo err >&2; exit 7')).toEqual({ code: 7, out: '0\n', err: 'err\n' })
    const counted = await command('wc -c', Buffer.alloc(INPUT_BYTES, 'x'))
    expect(counted).toEqual({ code: 0, out: `${INPUT_BYTES}\n`, err: '' })
    expect((await command('kill -TERM $$')).code).toBe(255)
    const given = await ssh.run('ssh', key, ['-o', 'SetEnv=LC_TEST=a', at, 'echo "$LC_TEST"'])
    expect(given.out).toBe('a\n')
  })

  test('[B1] a shell has a terminal of its customer’s, which takes on another size', async () => {
    const child = ssh.start('ssh', key, ['-tt', at])
    const result = resultOf(child)
    child.stdin.write('tty; echo "$TERM-end"; exit 5\n')
    const { code, out } = await result
    expect(code).toBe(5)
    expect(out).toMatch(/\/dev\/pts\/\d/)
    expect(out).toMatch(/\w-end\r\n/)

    const client = new ssh2.Client()
    const port = gateway.gateway.ssh?.port ?? 0
    client.connect({ host: '127.0.0.1', port, username: id, privateKey: readFileSync(key) })
    await once(client, 'ready')
    const shell = await new Promise<ssh2.ClientChannel>((resolve, reject) => {
      client.shell({ cols: 91, rows: 33, term: 'xterm' }, (error, channel) =>
        error ? reject(error) : resolve(channel),
      )
    })
    let text = ''
    shell.on('data', (piece: Buffer) => {
      text += piece
    })
    shell.write('stty size\n')
    await eventually('the first size', () => text.includes('33 91'))
    shell.setWindow(44, 122, 0, 0)
    shell.write('stty size\n')
    await eventually('the second size', () => text.includes('44 122'))
    shell.write('sleep 1000\n')
    await eventually('it to be typed', () => text.includes('sleep 1000'))
    shell.write('\u0003echo still $((40 + 2))\n')
    await eventually('the terminal’s own signal', () => text.includes('still 42'))
    client.end()
  })

  test('[B19] scp and sftp carry files both ways, with rights and times, by the machine’s own server', async () => {
    const from = join(folder, 'tree')
    mkdirSync(join(from, 'sub'), { recursive: true })
    const bytes = randomBytes(INPUT_BYTES)
    writeFileSync(join(from, 'sub', 'a b é'), bytes, { mode: 0o640 })
    expect(await ssh.run('scp', key, ['-q', '-p', '-r', from, `${at}:up`])).toEqual({
      code: 0,
      out: '',
      err: '',
    })
    const back = join(folder, 'back')
    expect((await ssh.run('scp', key, ['-q', '-p', '-r', `${at}:up`, back])).code).toBe(0)
    expect(readFileSync(join(back, 'sub', 'a b é')).equals(bytes)).toBe(true)
    expect(statSync(join(back, 'sub', 'a b é')).mode & 0o777).toBe(0o640)
    const lines = [
      'mkdir made',
      `put ${join(from, 'sub', 'a*')} made/one`,
      'rename made/one made/two',
      'ls made',
    ]
    const listed = await ssh.run('sftp', key, ['-q', '-b', '-', at], `${lines.join('\n')}\n`)
    expect([listed.code, listed.out]).toEqual([0, expect.stringContaining('made/two')])
  })

  test('[B1] -L reaches ports of the machine’s address and of its loopback; -R is refused', async () => {
    const [open, inner, none] = [await freePort(), await freePort(), await freePort()]
    const ways = [`${open}:localhost:8080`, `${inner}:localhost:8081`, `${none}:localhost:8082`]
    const child = ssh.start('ssh', key, ['-N', ...ways.flatMap(way => ['-L', way]), at])
    const result = resultOf(child)
    for (const port of [open, inner]) {
      const answer = await eventually('the port to be forwarded', () =>
        read(port, 'GET /os-release HTTP/1.0\r\n\r\n'),
      )
      expect(answer).toContain('Small Guest 1')
    }
    expect(await read(none, 'GET / HTTP/1.0\r\n\r\n')).toBeFalsy()
    child.kill()
    expect((await result).err).toContain('Nothing listens on that port')
    const refused = await ssh.run('ssh', key, [
      '-o',
      'ExitOnForwardFailure=yes',
      '-R',
      '0:localhost:1',
      at,
      'true',
    ])
    expect(refused.code).toBe(255)
  })

  const shellOf = async (session: number) => {
    const body = { instance_id: id, session }
    const { ticket, path } = await gateway.data(startWebTerminal, { body }, { token })
    return openTerminal(gateway.origin, ticket, { path })
  }

  test('[R2.23] [B9] it has shells in tabs, each with a terminal of its own, and its serial console beside them', async () => {
    const [one, two, serial] = [await shellOf(1), await shellOf(2), await shellOf(0)]
    await serial.shows(/berth-guest: up/)
    for (const shell of [one, two]) {
      await shell.shows(/# /)
      shell.type('echo on-$(tty)-$$\r')
    }
    const told = await Promise.all(
      [one, two].map(async shell => (await shell.shows(/on-(\/dev\/pts\/\d+-\d+)\r\n/))[1]),
    )
    expect(new Set(told).size).toBe(2)
    const { sessions, sessions_max, has_serial } = await gateway.data(
      startWebTerminal,
      { body: { instance_id: id } },
      { token },
    )
    expect({ sessions, sessions_max, has_serial }).toEqual({
      sessions: [1, 2],
      sessions_max: 8,
      has_serial: true,
    })
    const again = await shellOf(1)
    await again.shows(new RegExp(told[0] ?? 'none'))
    await gateway.data(stopWebTerminal, { body: { instance_id: id, session: 2 } }, { token })
    expect((await two.closed).code).toBe(TERMINAL_CLOSE.stopped.code)
    one.type('exit 5\r')
    await again.closed
    expect(again.frames.at(-1)).toEqual({ kind: 'exit', reason: 'shell_exited', code: 5 })
  })

  test('[B19] files come and go by calls, in pieces that are gone on with, and a folder as an archive', async () => {
    const files = filesOf({ server: gateway }, id, token)
    await files.ask(makeFolder, { body: { path: '/root/a b' } })
    const file = { path: '/root/a b/é', bytes: randomBytes(INPUT_BYTES) }
    await files.send(file, { length: 100_000 })
    const plan = await files.ask(planUpload, { body: { files: [files.figuresOf(file)] } })
    expect(plan.files).toMatchObject([{ have_bytes: 100_000 }])
    expect(await files.send(file, { offset: 100_000, verify_from: 0 })).toMatchObject({ is_done: true })
    const { entries } = await files.ask(listFiles, { query: { path: '/root/a b' } })
    expect(entries).toMatchObject([{ name: 'é', size: INPUT_BYTES }])
    const saved = Buffer.from(await (await files.save(file.path)).response.arrayBuffer())
    expect(saved.equals(file.bytes)).toBe(true)
    const archive = Buffer.from(await (await files.save('/root/a b')).response.arrayBuffer())
    expect(archive.includes(file.bytes)).toBe(true)
  })

  test('[R2.23] a question of DNS to its UDP port is answered, to each who asks', async () => {
    await command(`setsid perl -e '${NAME_SERVER}' > /dev/null 2>&1 < /dev/null &`)
    const { udp } = await gateway.data(getConnection, { params: { id } }, { token })
    expect(udp).toMatchObject([{ port: 5353, public_port: expect.any(Number) }])
    const { host = '', public_port } = udp[0] ?? {}
    const ask = async () => {
      const resolver = new Resolver({ timeout: 1_000, tries: 10 })
      resolver.setServers([`${isIP(host) ? host : '127.0.0.1'}:${public_port}`])
      return resolver.resolve4('cloud.example')
    }
    const answers = await Promise.all([ask(), ask(), ask()])
    expect(answers).toEqual([['203.0.113.9'], ['203.0.113.9'], ['203.0.113.9']])
  })

  test('[B1] a key that is removed, or is nobody’s, lets nobody in; who is in is put out', async () => {
    const stranger = await ssh.run('ssh', ssh.makeKey('stranger').file, [at, 'true'])
    expect(stranger.err).toContain('does not know the key SHA256:')
    const short = ssh.makeKey('short')
    const body = { name: '', public_key: short.line }
    const { id: shortId } = await gateway.data(addSshKey, { body }, { token })
    const child = ssh.start('ssh', short.file, [at, 'echo up; sleep 3000'])
    const result = resultOf(child)
    await once(child.stdout, 'data')
    await gateway.data(removeSshKey, { params: { id: shortId } }, { token })
    expect(await result).toMatchObject({
      code: 255,
      err: expect.stringContaining('was removed from your account'),
    })
  })

  test('[B1] [B8] a machine whose server is gone or lets the gateway in no more says so; one that stops ends what is open', async () => {
    const child = ssh.start('ssh', key, [at, 'echo up; sleep 3000'])
    const result = resultOf(child)
    await once(child.stdout, 'data')
    await command('mv .ssh/authorized_keys kept')
    expect((await command('true')).err).toContain('does not let us in as root')
    expect(await findings()).toContain('guest_key_refused')
    child.kill()
    await result

    // Whoever is in stays so; another shell and files say what is wrong, and the serial console goes on.
    const serial = await shellOf(0)
    const files = filesOf({ server: gateway }, id, token)
    const look = () => files.ask(listFiles, { query: {} }).catch(({ message }: Error) => message)
    serial.type('killall sshd\r')
    await eventually('the server to be gone', async () => (await look()) === 'files_guest_closed')
    expect((await (await shellOf(3)).closed).code).toBe(TERMINAL_CLOSE.guest_closed.code)
    serial.type('/usr/sbin/sshd\r')
    await eventually('the server to be back', async () => (await look()) === 'files_guest_refused')
    expect((await (await shellOf(3)).closed).code).toBe(TERMINAL_CLOSE.guest_refused.code)
  })

  test('[B1] a machine that stops ends what is open, and is not entered', async () => {
    await gateway.data(stopInstance, { params: { id } }, { token })
    await statusIs('stopped')
    expect((await command('true')).err).toContain('does not run. Start it')
  })
})

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  return port
}

/** What a port of this computer says to a few words; null where nobody listens. */
async function read(port: number, words: string): Promise<string | null> {
  const socket = connect({ host: '127.0.0.1', port })
  const pieces: Buffer[] = []
  socket.write(words)
  try {
    for await (const piece of socket) pieces.push(piece as Buffer)
    return Buffer.concat(pieces).toString()
  } catch {
    return null
  }
}
