import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type ConnectionFinding, diagnoseConnection } from '@berth/contract/connection-doctor'
import {
  type DeployBody,
  deployInstance,
  editInstance,
  getConnection,
  listInstances,
  stopInstance,
  terminateInstance,
} from '@berth/contract/instances'
import { addSshKey } from '@berth/contract/ssh-keys'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deployBody } from '../src/domains/instances/instances-fixture.ts'
import { eventually } from '../src/domains/reach/reach-fixture.ts'
import { makeImage, packOdd, startRegistry } from '../src/drivers/compute/oci/registry-fixture.ts'
import { probeSandbox } from '../src/drivers/compute/sandbox/probe-sandbox.ts'
import { createSandboxEngine } from '../src/drivers/compute/sandbox/sandbox-engine.ts'
import { shippedCatalogue } from './shipped-catalogue.ts'
import { createSshClient, hasProgram, resultOf, type SshClient } from './ssh-client.ts'
import { startGateway, type TestGateway } from './start-gateway.ts'

const SETUP_MS = 180_000
/** More than a connection may try. */
const STRANGE_KEYS = 13
const PORTS = { fine: 8001, error: 8002, foreign: 8003, slow: 8004, silent: 8005, elsewhere: 8006 }
const TCP_PORT = 9001
const UNDECLARED_PORT = 7777
/** An address that an instance has for itself; no other test listens there. */
const ADDRESS = '127.71.0.31'
const TAKEN_PORT = 9_131
const UDP_PORTS = { silent: 9_132, heard: 9_133 }
const DATAGRAMS = `perl -MIO::Socket::INET -e '
  $u = IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => 9133, Proto => "udp") or die;
  $t = IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => 9131, Listen => 5) or die; sleep 1 while 1'`
/** Each port answers in its own way; the slow one only whoever comes second. */
const LISTENERS = `perl -MIO::Socket::INET -e '$| = 1; $ok = "HTTP/1.1 204 X\\r\\n\\r\\n";
  %s = (8001 => $ok, 8002 => "HTTP/1.1 503 X\\r\\n\\r\\n", 8003 => "220 hello\\r\\n", 8004 => "", 8006 => $ok, 9001 => "", 7777 => "");
  for $p (keys %s) { next if fork; $a = $p == 8006 ? "127.0.0.9" : "127.0.0.1";
    $l = IO::Socket::INET->new(LocalAddr => $a, LocalPort => $p, Listen => 5) or die; print "up\\n";
    while ($c = $l->accept) { push @k, $c; syswrite $c, $s{$p}; $s{$p} = $ok if $p == 8004 } }
  wait'`

const WALLED_PORT = 9_002
const WALLED = `perl -MIO::Socket::INET -e '$| = 1;
  $l = IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => 9002, Listen => 5) or die; print "up\\n"; sleep 1 while 1'`
const cannotFilter =
  process.getuid?.() !== 0
    ? 'only root may set packet rules'
    : hasProgram('nft')
      ? null
      : 'nft is not installed'

/** Drops what is sent to one port of an address that nobody else has, as a firewall on the way would. */
async function buildWall(host: string, port: number) {
  const nft = (line: string) => promisify(execFile)('nft', [line])
  const table = `ip berth_wall_${process.pid}`
  await nft(
    `add table ${table}; add chain ${table} input { type filter hook input priority 0; }; ` +
      `add rule ${table} input ip daddr ${host} tcp dport ${port} counter drop`,
  )
  return {
    wasHit: async () => !(await nft(`list table ${table}`)).stdout.includes('counter packets 0'),
    fall: () => nft(`delete table ${table}`),
  }
}

const sandbox = await probeSandbox()
const missing = sandbox.ok ? (hasProgram('ssh') ? null : 'OpenSSH’s client is not installed') : sandbox.why
if (missing !== null) process.stdout.write(`SKIP the connection doctor: ${missing}\n`)

// Goal: whatever keeps a customer out is named. Method: each fault is made for real, at a real gateway with real machines
// and OpenSSH's own client, and the doctor is asked.
describe.skipIf(missing !== null)('the connection doctor', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-doctor-'))
  let gateway: TestGateway
  let registry: Awaited<ReturnType<typeof startRegistry>>
  let ssh: SshClient
  let token: string
  let id: string

  beforeAll(async () => {
    const engine = await createSandboxEngine({
      dataDir: join(folder, 'machines'),
      log: pino({ level: 'silent' }),
    })
    registry = await startRegistry(
      makeImage([{ bytes: packOdd([{ name: 'told', content: 'nothing runs here' }]), packing: '' }]),
    )
    const catalogue = shippedCatalogue()
    const bare = catalogue.images
      .filter(image => image.id === 'berth-base')
      .map(image => ({ ...image, id: 'bare', recipe: { sandbox: { image: registry.reference } } }))
    gateway = await startGateway({
      compute: engine,
      sshPort: 0,
      catalogue: {
        ...catalogue,
        images: [...catalogue.images, ...bare],
        regions: catalogue.regions.map(region => ({
          ...region,
          public_ips: region.code === 'us-west' ? [{ address: ADDRESS, listen: ADDRESS }] : [],
        })),
      },
    })
    const customer = await gateway.signUp()
    token = customer.token
    await gateway.grant(customer.userId, 10_000)
    ssh = createSshClient({ folder, port: gateway.gateway.ssh?.port ?? 0 })
    await ssh.learnHost()
    id = await running({
      start_command: 'exit 3',
      http_ports: Object.values(PORTS),
      tcp_ports: [TCP_PORT],
    })
  }, SETUP_MS)
  afterAll(async () => {
    await gateway?.stop()
    registry?.close()
    rmSync(folder, { recursive: true, force: true })
  }, SETUP_MS)

  async function running(body: Partial<DeployBody>): Promise<string> {
    const deployed = await gateway.data(deployInstance, { body: deployBody(body) }, { token })
    await statusIs(deployed.instance_id, 'running')
    return deployed.instance_id
  }
  const statusIs = (one: string, status: string) =>
    eventually(`the status ${status}`, async () => {
      const all = await gateway.data(listInstances, {}, { token })
      return all.find(({ instance_id }) => instance_id === one)?.status === status
    })
  const diagnosed = async (one: string): Promise<ConnectionFinding[]> =>
    (await gateway.data(diagnoseConnection, { params: { id: one } }, { token })).findings
  /** Asks until something is found: what a client did is written down when it has left. */
  const finds = async (one: string, code: ConnectionFinding['code']) =>
    eventually(code, async () => (await diagnosed(one)).find(found => found.code === code))
  const store = (line: string) => gateway.data(addSshKey, { body: { name: '', public_key: line } }, { token })

  test('[B8] a command that failed, an account without keys, and ports on which nothing listens', async () => {
    await finds(id, 'command_failed')
    const found = await diagnosed(id)
    expect(found.slice(0, 3)).toMatchObject([
      { code: 'command_failed', level: 'fault', values: { exit_code: 3 } },
      { code: 'key_none', of: 'ssh' },
      { code: 'shell_works', level: 'good' },
    ])
    expect(found.slice(3)).toMatchObject(
      [...Object.values(PORTS), TCP_PORT].map(port => ({ code: 'port_silent', of: 'port', port })),
    )
  })

  test('[B8] what a client offered last that was not let in, until its key is stored', async () => {
    const at = `${id}@127.0.0.1`
    const mine = ssh.makeKey('mine')
    await store(mine.line)
    await finds(id, 'nobody_asked')
    await ssh.run('ssh', mine.file, ['-o', 'PreferredAuthentications=password', at, 'true'])
    expect(await finds(id, 'key_not_offered')).toMatchObject({ values: { address: '127.0.0.1' } })
    const strange = Array.from({ length: STRANGE_KEYS }, (_, index) => ssh.makeKey(`strange-${index}`))
    const [first] = strange
    await ssh.run('ssh', first?.file ?? '', [...strange.flatMap(({ file }) => ['-i', file]), at, 'true'])
    await finds(id, 'too_many_keys')
    const { err } = await ssh.run('ssh', first?.file ?? '', [at, 'true'])
    const unknown = await finds(id, 'key_unknown')
    expect(unknown.values).toMatchObject({ type: 'ssh-ed25519', address: '127.0.0.1' })
    expect(err).toContain(unknown.values.fingerprint)
    await store(first?.line ?? '')
    expect((await diagnosed(id)).map(({ code }) => code)).not.toContain('key_unknown')
    await ssh.run('ssh', first?.file ?? '', [at, 'true'])
    await finds(id, 'signed_in')
    const rsa = ssh.makeKey('rsa', 'rsa')
    await store(rsa.line)
    await ssh.run('ssh', rsa.file, ['-o', 'PubkeyAcceptedAlgorithms=ssh-rsa', at, 'true'])
    await finds(id, 'key_signature_old')
  })

  test('[B8] services that fail, hang or speak something else, ports elsewhere, undeclared or never reached', async () => {
    // Before anybody listens: to say how to connect is to try the ports, too.
    const { tcp } = await gateway.data(getConnection, { params: { id } }, { token })
    const way = tcp.find(({ port }) => port === TCP_PORT)
    const child = ssh.start('ssh', ssh.makeKey('mine').file, [`${id}@127.0.0.1`, LISTENERS])
    const ended = resultOf(child)
    let up = 0
    child.stdout.on('data', (piece: Buffer) => {
      up += piece.toString().split('up').length - 1
    })
    await eventually('all listeners', () => up === Object.keys(PORTS).length + 1)
    const of = (found: ConnectionFinding[], port: number | null) =>
      found.find(one => one.of === 'port' && one.port === port)

    const found = await diagnosed(id)
    expect(of(found, PORTS.fine)).toMatchObject({ code: 'http_answers', values: { status: 204 } })
    expect(of(found, PORTS.error)).toMatchObject({ code: 'http_error', values: { status: 503 } })
    expect(of(found, PORTS.foreign)).toMatchObject({ code: 'http_foreign' })
    expect(of(found, PORTS.slow)).toMatchObject({ code: 'http_slow' })
    expect(of(found, PORTS.silent)).toMatchObject({ code: 'port_silent' })
    expect(of(found, PORTS.elsewhere)).toMatchObject({
      code: 'port_elsewhere',
      values: { addresses: '127.0.0.9' },
    })
    expect(of(found, TCP_PORT)).toMatchObject({
      code: 'tcp_untried',
      values: { host: way?.host, public_port: way?.public_port },
    })
    expect(of(found, null)).toMatchObject({
      code: 'port_undeclared',
      values: { ports: `${UNDECLARED_PORT}` },
    })

    const socket = connect(way?.public_port ?? 0, way?.host)
    await new Promise(resolve => socket.once('connect', resolve))
    const after = await diagnosed(id)
    expect(of(after, TCP_PORT)).toMatchObject({ code: 'tcp_listens' })
    expect(of(after, PORTS.slow)).toMatchObject({ code: 'http_answers' })
    socket.destroy()
    child.kill()
    await ended
  })

  test('[B8] a firewall before a port: here all is open, and nobody ever came', async context => {
    if (cannotFilter !== null) return context.skip(cannotFilter)
    const edited = { instance_id: id, tcp_ports: [TCP_PORT, WALLED_PORT] }
    await gateway.data(editInstance, { body: edited }, { token })
    const { tcp } = await gateway.data(getConnection, { params: { id } }, { token })
    const { host = '', public_port = 0 } = tcp.find(({ port }) => port === WALLED_PORT) ?? {}
    const child = ssh.start('ssh', ssh.makeKey('mine').file, [`${id}@127.0.0.1`, WALLED])
    const ended = resultOf(child)
    await once(child.stdout, 'data')
    const told = async () => (await diagnosed(id)).find(({ port }) => port === WALLED_PORT)
    const wall = await buildWall(host, public_port)
    try {
      const knocking = connect(public_port, host).on('error', () => undefined)
      await eventually('a knock at the wall', wall.wasHit)
      expect(await told()).toMatchObject({
        code: 'tcp_untried',
        level: 'note',
        values: { host, public_port },
      })
      knocking.destroy()
    } finally {
      await wall.fall()
    }
    const socket = connect(public_port, host)
    await once(socket, 'connect')
    expect(await told()).toMatchObject({ code: 'tcp_listens' })
    socket.destroy()
    child.kill()
    await ended
  })

  test('[B8] a program that the image lacks, a machine that stopped, one that is gone, and somebody else’s', async () => {
    const one = await running({ start_command: '/no/such/program', http_ports: [] })
    expect(await finds(one, 'program_missing')).toMatchObject({ values: { exit_code: 127 } })
    const other = await gateway.signUp()
    const theirs = await gateway.call(diagnoseConnection, { params: { id: one } }, { token: other.token })
    expect(theirs.httpStatus).toBe(404)
    await gateway.data(stopInstance, { params: { id: one } }, { token })
    await statusIs(one, 'stopped')
    expect((await diagnosed(one))[0]).toMatchObject({ code: 'instance_stopped' })
    await gateway.data(terminateInstance, { params: { id: one } }, { token })
    await eventually('its end', async () => (await gateway.data(listInstances, {}, { token })).length === 1)
    expect(await diagnosed(one)).toMatchObject([{ code: 'instance_terminated' }])
  })

  test('[B8] a UDP port that stays silent, and a port that another program has at the address of the instance', async () => {
    const taken = createServer().listen(TAKEN_PORT, ADDRESS)
    await once(taken, 'listening')
    const one = await running({
      http_ports: [],
      tcp_ports: [TAKEN_PORT],
      udp_ports: Object.values(UDP_PORTS),
      public_ip: 'dedicated',
      start_command: DATAGRAMS,
    })
    try {
      await finds(one, 'udp_listens')
      const found = (await diagnosed(one)).filter(({ of }) => of === 'port')
      expect(found).toMatchObject([
        { code: 'udp_silent', level: 'fault', port: UDP_PORTS.silent },
        { code: 'udp_listens', level: 'good', port: UDP_PORTS.heard },
        {
          code: 'address_port_taken',
          level: 'fault',
          port: TAKEN_PORT,
          values: { host: ADDRESS, protocol: 'tcp' },
        },
      ])
    } finally {
      taken.close()
    }
    // The port opens by itself when the other program has left it.
    await eventually('the port', async () =>
      (await diagnosed(one)).every(({ code }) => code !== 'address_port_taken'),
    )
  })

  test('[B8] an image without a shell', async () => {
    const one = await running({ image_id: 'bare', http_ports: [] })
    expect((await diagnosed(one)).map(({ code }) => code)).toContain('shell_missing')
    const said = await ssh.run('ssh', ssh.makeKey('mine').file, [`${one}@127.0.0.1`, 'true'])
    expect(said).toMatchObject({ code: 255, err: expect.stringContaining('has no shell') })
  })
})
