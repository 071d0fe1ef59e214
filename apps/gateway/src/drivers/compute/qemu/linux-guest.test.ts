import { type ChildProcess, execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { triesOf } from '../../../../test/long-runs.ts'
import { ed25519Pair, type SshKeyPair } from '../../../platform/openssh-key.ts'
import { describeExec } from '../conformance/exec.ts'
import { describeDatagrams } from '../conformance/network.ts'
import { describePrograms } from '../conformance/programs.ts'
import { openScreen, type Screen } from '../conformance/screen.ts'
import { describeSessions } from '../conformance/sessions.ts'
import { smallMachine } from '../conformance/small-machine.ts'
import { eventually, expectCode, never, type Subject, text } from '../conformance/tools.ts'
import { ENGINE_ADDRESS, makeNetworks, OPEN_PORT, OUTSIDE } from '../docker/networks-fixture.ts'
import type { ComputeCapabilities, Engine } from '../port/engine.ts'
import type { MachineSpec } from '../port/machines.ts'
import { offered } from '../port/part.ts'
import { NAME_SERVER_FILE, startNameServer } from '../sandbox/name-server-fixture.ts'
import { openOrderedProcess } from '../sandbox/orders-fixture.ts'
import { findOutboundNetwork } from '../sandbox/outbound-network.ts'
import type { VmOrder } from './gateway-fixture.ts'
import { makeGuest } from './guest-fixture.ts'
import { findHypervisor } from './probe-qemu.ts'
import { createQemuEngine } from './qemu-engine.ts'

const hypervisor = await findHypervisor()
const diskTool = hypervisor.ok ? hypervisor.hypervisor.disk_tool : ''
const log = pino({ level: 'silent' })
/** A processor that is emulated encrypts slowly. */
const isLong = triesOf('guests') > 0
const [signIn, host_key] = [1, 2].map(filling => ed25519Pair(Buffer.alloc(32, filling))) as [
  SshKeyPair,
  SshKeyPair,
]
const ssh_access = { key: signIn.public, private_key: signIn.private, host_key }
const folder = mkdtempSync(join(tmpdir(), 'berth-guest-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const found = await makeGuest(join(folder, 'guest'), { ssh: true })
/** What a name is the name of, and a private address that machines may reach. */
const KNOWN = '203.0.113.99'
const OPENED = '192.168.7.7'
/** What a guest writes, and gives its kernel no time to write to the disk. */
const LAST_WORDS = 'the-last-words-of-a-guest'
/** The computer as guests of QEMU see it, their name server's other ports, and the helper's own addresses. */
const DETOURS = ['10.0.2.2', '10.0.2.3', '198.51.100.2', '198.51.100.3', 'fec0::2', 'fd00::2']
const networks = found.ok ? await makeNetworks() : found
const outbound = 'why' in networks ? { lacks: networks.why } : await findOutboundNetwork([])
const unconnected = 'lacks' in outbound ? outbound.lacks : null
const connected = 'why' in networks || unconnected !== null ? null : networks
if (unconnected !== null) process.stdout.write(`SKIP what virtual machines may reach: ${unconnected}\n`)

if (!found.ok) process.stdout.write(`SKIP a Linux in a virtual machine: ${found.why}\n`)

describe.skipIf(!found.ok)('a Linux in a virtual machine', () => {
  let engine: Engine
  let later: Engine
  const dataDir = join(folder, 'guests')
  const id = 'guest'
  const greeting = 'it\'s $HOME; `id`\n"two" lines: é漢 \\'
  const open = () => createQemuEngine({ dataDir, log })
  const specOf = (part: Partial<MachineSpec>): MachineSpec => {
    if (!found.ok) throw new Error(found.why)
    const { kernel, initrd, disk, cmdline } = found.guest
    const qemu = { file: disk, kernel: { file: kernel }, initrd: { file: initrd }, cmdline }
    return smallMachine(id, { id: 'small-guest', parts: { qemu } }, { memory_mb: 192, ssh_access, ...part })
  }
  const logOf = () => engine.observation.logs(id, { lines_max: 200 })
  const boot = async (part: Partial<MachineSpec>) => {
    await engine.machines.create(specOf(part), never)
    await engine.machines.start(id, never)
    expect(await engine.observation.status(id)).toMatchObject({ state: 'running', waits: true })
    await engine.machines.begin(id, never)
    await eventually(async () => expect(await logOf()).toContain('berth-guest: up'))
  }

  const first = {
    hostname: 'first',
    env: { GREETING: greeting, OF_MACHINE: 'a' },
    command: [
      'sh',
      '-c',
      'printf "%s" "$GREETING" > /greeting; echo of the guest > /dev/vda; sync; exec httpd -f -p 8080 -h /',
    ],
    ports: [8080],
  }

  beforeAll(async () => {
    if (connected) await bootElsewhere()
    engine = await open()
    await boot(first)
  }, 120_000)
  afterAll(async () => {
    await engine.machines.remove(id, never)
    if (nameServer?.pid !== undefined) process.kill(-nameServer.pid, 'SIGKILL')
    await connected?.remove()
  })

  let nameServer: ChildProcess | null = null
  /** Starts it on a computer with a network of the test's own, by a gateway that is then gone. */
  async function bootElsewhere(): Promise<void> {
    if (!connected) return
    nameServer = await startNameServer(connected, { address: KNOWN })
    const resolv = join(folder, 'resolv.conf')
    writeFileSync(resolv, NAME_SERVER_FILE)
    const script = join(import.meta.dirname, 'gateway-fixture.ts')
    const gateway = await openOrderedProcess<VmOrder>({
      namespace: connected.engine,
      uid: process.getuid?.() ?? 0,
      program: [process.execPath, script, dataDir, JSON.stringify({ outbound: { opened: [OPENED] } })],
      before: `mount --bind ${resolv} /etc/resolv.conf`,
    })
    const { outbound_network } = (await gateway.ask({ do: 'capabilities' })) as ComputeCapabilities
    expect(outbound_network).toMatchObject({ offered: true, how: expect.stringContaining('slirp4netns') })
    await gateway.ask({ do: 'create', spec: specOf(first) })
    await gateway.ask({ do: 'start', id })
    await gateway.kill()
  }
  afterAll(() => engine.machines.remove(id, never))

  /** What stands on the disk of an image that is made of a machine. */
  async function imageOf(machine_id: string): Promise<string> {
    const own = offered(engine.images.own)
    await own.build({ machine_id, image_id: 'image' }, () => undefined, never)
    const [name = ''] = readdirSync(join(dataDir, 'bases')).filter(one => one.startsWith('own-image-'))
    const raw = join(folder, 'image.raw')
    const from = `if=${join(dataDir, 'bases', name)}`
    // The disk of a guest is larger than the file system on it.
    execFileSync(diskTool, ['dd', '-O', 'raw', from, `of=${raw}`, 'bs=1M', 'count=16'])
    return readFileSync(raw).toString('latin1')
  }

  test('its serial line is a terminal that many share, with what there was before', async () => {
    const one = await openScreen(engine, id, { session: 'serial' })
    await one.shows('berth-guest: up')
    const two = await openScreen(engine, id, { session: 'serial' })
    await two.shows('berth-guest: up')
    one.type('echo $((6 * 7)); hostname\r')
    for (const screen of [one, two]) await screen.shows('42\r\nfirst\r\n')
    await engine.console.closeSession(id, 'serial')
    expect(await one.end).toEqual({ reason: 'closed', code: null })
  })

  describe('what is run in it by its own SSH server', () => {
    const subject: Subject = {
      engine: () => engine,
      inside: test,
      spec: part => specOf({ ...part, id: 'unmade' }),
      running: async () => specOf({}),
    }
    beforeAll(() => eventually(() => text(engine, id, 'true')), 120_000)
    afterAll(() => engine.machines.remove('unmade', never))
    if (isLong) describeExec(subject)
    describePrograms(subject)
    describeSessions(subject, { makeEngine: open, oneMachine: true })
    describeDatagrams(subject)

    test('[B9] a shell takes on its size and passes every byte, and another one is beside it', async () => {
      const one = await openScreen(engine, id, { cols: 100, rows: 30, env: { LC_OWN: 'too' } })
      const two = await openScreen(engine, id, { session: 'web-2' })
      await one.shows('# ')
      one.type('stty size; tty; id -u; echo "$OF_MACHINE-$LC_OWN-$TERM"; printf "\\377\\000|é漢|"\n')
      await one.shows('30 100')
      await one.shows('a-too-xterm-256color')
      await eventually(() => expect(one.bytes().includes(Buffer.from([0xff, 0, 0x7c]))).toBe(true))
      one.line.resize(132, 43)
      await eventually(async () => {
        one.type('stty size\n')
        await one.shows('43 132', 200)
      })
      two.type('echo pty-$(tty)\n')
      await two.shows('pty-/dev/pts/')
      expect((await engine.console.sessions(id)).sort()).toEqual(['web', 'web-2'])
      for (const session of ['web', 'web-2']) await engine.console.closeSession(id, session)
      expect([await one.end, await two.end]).toMatchObject([{ reason: 'closed' }, { reason: 'closed' }])
    })

    test.runIf(isLong)('more run at a time than one connection to the server carries', async () => {
      const said = await Promise.all(
        Array.from({ length: 20 }, (_, at) => engine.console.exec(id, ['sh', '-c', `sleep 1; echo ${at}`])),
      )
      expect(said.map(({ stdout }) => stdout)).toEqual(Array.from({ length: 20 }, (_, at) => `${at}\n`))
    })
  })

  test('its ports are reached, also by a gateway that comes later; one that nobody listens on is closed', async () => {
    later = await open()
    for (const gateway of [engine, later]) {
      expect(await eventually(() => read(gateway, 8080, 'GET /greeting HTTP/1.0\r\n\r\n'))).toContain(
        greeting,
      )
      await expectCode(gateway.network.connect(id, 8081), 'port_closed')
    }
    expect((await later.machines.list()).map(({ state }) => state)).toEqual(['running'])
  })

  test('it reaches the internet, by IPv4, IPv6 and name; not its computer, nor what is private', async ctx => {
    if (!connected) return ctx.skip(String(unconnected))
    const screen = await openScreen(engine, id, { session: 'serial' })
    const [four = '', six = ''] = OUTSIDE.public
    // A router announces IPv6 a moment after the start.
    await eventually(async () => expect(await reached(screen, [six])).toEqual([six]))
    const others = OUTSIDE.private.filter(address => address !== OPENED)
    const closed = [...others, ...OUTSIDE.metadata, ENGINE_ADDRESS, ...DETOURS]
    const open = [four, six, OPENED].toSorted()
    expect(await reached(screen, open)).toEqual(open)
    expect(await reached(screen, closed, { patience_s: 2 })).toEqual([])
    screen.clear()
    screen.type(`nslookup cloud.example 10.0.2.3\r`)
    await screen.shows(KNOWN)
    screen.line.close()
  })

  test('it is measured', async () => {
    await engine.observation.sample(id)
    const sample = await eventually(async () => {
      const one = await engine.observation.sample(id)
      expect(one.cpu_percent).not.toBeNull()
      return one
    })
    expect(sample.memory_used_mb).toBeGreaterThan(20)
    expect(sample.disk_used_mb).toBeGreaterThan(0)
  })

  test('its agent says what it is and where, and one that is gone holds up nobody', async () => {
    const facts = () => offered(engine.observation.guest).facts(id)
    await eventually(async () => {
      expect(await facts()).toMatchObject({
        os: 'Small Guest 1',
        addresses: expect.arrayContaining([{ interface: 'eth0', address: '10.0.2.15' }]),
      })
    })
    const screen = await openScreen(engine, id, { session: 'serial' })
    screen.type('killall qemu-ga\r')
    await eventually(async () => expect(await facts()).toBeNull())
    screen.line.close()
  })

  test('it is shut down by its power button, and takes on another name and command when it starts next', async () => {
    const heard: string[] = []
    const unwatch = later.observation.watch(one => heard.push(one))
    await engine.machines.stop(id, never)
    // What the other one does about it is done before the machine starts again.
    await eventually(() => expect(heard).toContain(id))
    unwatch()
    expect(await logOf()).toContain('berth-guest: power button')
    expect(await engine.observation.status(id)).toMatchObject({ state: 'stopped' })
    expect(await imageOf(id)).toMatch(/^of the guest\n/)
    await boot({
      hostname: 'deaf',
      command: ['sh', '-c', `echo ${LAST_WORDS} > /disk/last; hostname; exit 3`],
    })
    // This gateway was told of no way to the internet.
    expect(engine.capabilities.outbound_network).toMatchObject({ offered: false })
    const screen = await openScreen(engine, id, { session: 'serial' })
    expect(await reached(screen, ['10.0.2.2', '10.0.2.3', '192.0.2.1'], { port: 53, patience_s: 2 })).toEqual(
      [],
    )
    screen.line.close()
    await eventually(async () => {
      expect(await engine.observation.status(id)).toMatchObject({ command_end: { exit_code: 3, count: 1 } })
    })
    expect(await logOf()).toMatch(/deaf\r?$/m)
    const why = 'status: error no such module: users'
    expect(await logOf()).toContain(`preparing the guest failed: ${why}`)
    const status = await engine.observation.status(id)
    expect(status).toMatchObject({ guest_trouble: { code: 'guest_unprepared', detail: why } })
  }, 120_000)

  test('one that does not shut down, though its agent and its button are heard, has written its files before the plug is pulled', async () => {
    const impatient = await createQemuEngine({ dataDir, log, stopGraceMs: 8_000 })
    await impatient.machines.stop(id, never)
    await impatient.shutdown({ machines_stay: true })
    expect(await logOf()).toContain('berth-guest: asked to shut down')
    expect(await engine.observation.status(id)).toMatchObject({ state: 'stopped' })
    await offered(engine.images.own).delete('image')
    expect(await imageOf(id)).toContain(LAST_WORDS)
  }, 120_000)
})

/** Which of these take a connection of the guest's. */
async function reached(
  screen: Screen,
  addresses: string[],
  { port = OPEN_PORT, patience_s = 30 } = {},
): Promise<string[]> {
  // What is typed before the shell is there is lost.
  await screen.shows('/ # ', 60_000)
  screen.clear()
  const one = `(nc -w ${patience_s} $a ${port} < /dev/null > /dev/null 2>&1 && echo through-$a) &`
  screen.type(`for a in ${addresses.join(' ')}; do ${one} done; wait; echo all-$((1)); \r`)
  await screen.shows('all-1', 60_000)
  const found = screen
    .bytes()
    .toString()
    .matchAll(/^through-(\S+)/gm)
  return [...found].map(([, address]) => address ?? '').toSorted()
}

/** What a port says to a few words. */
async function read(engine: Engine, port: number, words: string): Promise<string> {
  const stream = await engine.network.connect('guest', port)
  const pieces: Buffer[] = []
  stream.write(words)
  for await (const piece of stream) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString()
}
