import pino from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { smallMachine } from '../conformance/small-machine.ts'
import { eventually, never, text } from '../conformance/tools.ts'
import type { Engine } from '../port/engine.ts'
import { createDockerEngine } from './docker-engine.ts'
import { startDockerd, type TestDaemon } from './dockerd-fixture.ts'
import type { EgressPolicy } from './egress-guard.ts'
import {
  ENGINE_ADDRESS,
  makeNetworks,
  nameServers,
  OPEN_PORT,
  OUTSIDE,
  type TestNetworks,
} from './networks-fixture.ts'
import { importTestImage } from './test-image.ts'

const log = pino({ level: 'silent' })
const made = await makeNetworks()
const started = 'why' in made ? made : await startDockerd({ network_namespace: made.engine })
const missing = 'why' in started ? started.why : null
if (missing !== null) process.stdout.write(`SKIP what machines on Docker may reach: ${missing}\n`)

const CLOUD = 'egress'
const NETWORK = `berth-${CLOUD}`
const GUARD = `berth-${CLOUD}.guard`
/** Of the network of machines, as the test makes it. */
const GATEWAYS = ['172.31.9.1', 'fd88::1']
const EVERYTHING = [...Object.values(OUTSIDE).flat(), ENGINE_ADDRESS, ...GATEWAYS]
/** Long enough for what answers; what is denied never does. */
const TRY_S = 2

/** Says which of its arguments, `address port hex`, answer: all are tried at once. */
const TRY =
  'while(@ARGV){my($a,$p,$x)=splice@ARGV,0,3;next if fork;alarm SECONDS;my $six=$a=~/:/;' +
  'socket(S,$six?10:2,1,0);my $to=$six?pack("SnNH32N",10,$p,0,$x,0):pack("SnH8x8",2,$p,$x);' +
  'if(connect(S,$to)&&sysread(S,$b,9)){print"$a:$p\\n"}exit}1 while wait>0'

describe.skipIf(missing !== null)('what machines on Docker may reach', () => {
  const networks = made as TestNetworks
  const daemon = started as TestDaemon
  const spec = (id: string, more = {}) =>
    smallMachine(id, { id: 'test', parts: { docker: image } }, { ports: [OPEN_PORT], ...more })
  let image = ''
  let engine: Engine

  const open = (egress: EgressPolicy | null) =>
    createDockerEngine({
      place: { kind: 'unix', socket_path: daemon.socket_path },
      cloudId: CLOUD,
      egress,
      log,
    })
  const strict = { opened: [], required: true }

  beforeAll(async () => {
    image = await importTestImage(daemon.docker)
    // As an engine makes it whose daemon gives IPv6 to every network.
    await daemon.docker.createNetwork({
      Name: NETWORK,
      Driver: 'bridge',
      EnableIPv6: true,
      IPAM: {
        Driver: 'default',
        Config: [{ Subnet: '172.31.9.0/24' }, { Subnet: 'fd88::/64', Gateway: 'fd88::1' }],
      },
      Options: { 'com.docker.network.bridge.enable_icc': 'false' },
    })
    engine = await open(null)
    await engine.machines.create(spec('one'), never)
    await engine.machines.start('one', never)
  })
  afterAll(async () => {
    await daemon.docker
      .getContainer(GUARD)
      .remove({ force: true })
      .catch(() => undefined)
    await engine?.machines.remove('one', never)
    await daemon.remove()
    await networks.remove()
  })

  test('without a filter that is everything; with it, the internet and name servers alone', async () => {
    expect(engine.capabilities.egress_filter).toMatchObject({ enforced: false })
    await expectReached(EVERYTHING)

    engine = await open(strict)
    expect(engine.capabilities.egress_filter).toMatchObject({ enforced: true })
    await expectReached(OUTSIDE.public)
    const servers = await nameServers()
    await eventually(async () => expect(await reached(servers, 53)).toEqual(servers))
    expect(await reached(servers)).toEqual([])
  })

  test('who asks a machine gets its answer, at its own address as where it is published', async () => {
    await text(engine, 'one', `setsid perl -e '${GREETER_INSIDE}' > /dev/null 2>&1 &`)
    const { NetworkSettings } = await daemon.docker.getContainer(`${NETWORK}-one`).inspect()
    const address = NetworkSettings.Networks[NETWORK]?.IPAddress ?? ''
    const published = NetworkSettings.Ports[`${OPEN_PORT}/tcp`]?.[0]
    const ask = (host: string, port: number | string) =>
      networks.inside('engine', 'bash', '-c', `read -r -t 30 line < /dev/tcp/${host}/${port}; echo "$line"`)
    await eventually(async () => expect(await ask(address, OPEN_PORT)).toBe('answer\n'))
    expect(await ask(published?.HostIp ?? '', published?.HostPort ?? '')).toBe('answer\n')
  })

  test('rules that somebody takes away come back, also where no gateway looks', async () => {
    const flush = async () => {
      for (const tool of ['iptables', 'ip6tables'])
        await networks.inside('engine', tool, '-t', 'mangle', '-F')
    }
    await flush()
    await eventually(async () => expect(await reached(EVERYTHING)).toEqual(OUTSIDE.public))

    // Without its guard nothing brings them back but the next start.
    await daemon.docker.getContainer(GUARD).remove({ force: true })
    await flush()
    await eventually(async () => expect(await reached(['10.77.0.2'])).toEqual(['10.77.0.2']))
    await engine.machines.stop('one', never)
    await engine.machines.start('one', never)
    await expectReached(OUTSIDE.public)
  })

  test('what the operator opens is reached, and nothing beside it', async () => {
    engine = await open({ opened: ['192.168.7.0/24', 'fd99::7', ENGINE_ADDRESS], required: true })
    await expectReached([...OUTSIDE.public, '192.168.7.7', 'fd99::7', ENGINE_ADDRESS])
  })

  test('where rules are not taken, machines of strangers do not start; others do, and it is said', async () => {
    // No such address: stands for a computer without the means.
    const broken = { opened: ['999.1.1.1'], required: true }
    await engine.machines.stop('one', never)
    const refusing = await open(broken)
    expect(refusing.capabilities.egress_filter).toMatchObject({
      enforced: false,
      why: expect.stringContaining('999.1.1.1'),
    })
    await expect(refusing.machines.start('one', never)).rejects.toMatchObject({ code: 'failed' })
    // Nor where the look was taken while the machine was made.
    await refusing.machines.create(spec('one'), never)
    await expect(refusing.machines.start('one', never)).rejects.toMatchObject({ code: 'failed' })
    expect((await refusing.observation.status('one')).state).toBe('stopped')

    const lenient = await open({ ...broken, required: false })
    await lenient.machines.start('one', never)
    expect((await lenient.observation.status('one')).state).toBe('running')
  })

  test('a machine has few rights, and none over networks, but for root of its own files', async () => {
    const status = await text(engine, 'one', 'cat /proc/self/status')
    expect(status).toMatch(/^NoNewPrivs:\s*1$/m)
    // A filter of system calls: Docker's own.
    expect(status).toMatch(/^Seccomp:\s*2$/m)
    const bounding = BigInt(`0x${/^CapBnd:\s*(\S+)/m.exec(status)?.[1]}`)
    // CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID, NET_BIND_SERVICE, SYS_CHROOT.
    const needed = [0, 1, 3, 4, 5, 6, 7, 10, 18].reduce((sum, right) => sum | (1n << BigInt(right)), 0n)
    expect(bounding).toBe(needed)
    const { HostConfig } = await daemon.docker.getContainer(`${NETWORK}-one`).inspect()
    expect(HostConfig).toMatchObject({ PidsLimit: 4096, Privileged: false, UsernsMode: '' })
  })

  test('the guard has the right to set packet rules, and no other', async () => {
    engine = await open(strict)
    const { HostConfig, Mounts } = await daemon.docker.getContainer(GUARD).inspect()
    expect(HostConfig).toMatchObject({
      Privileged: false,
      CapDrop: ['ALL'],
      CapAdd: ['NET_ADMIN', 'NET_RAW'],
      RestartPolicy: { Name: 'always' },
    })
    expect(Mounts).toMatchObject([{ Source: '/', Destination: '/host', RW: false }])
    expect(await engine.machines.list()).toEqual([{ id: 'one', state: 'running' }])
  })

  /** Asks until all that should answer has; what should not must not even once. */
  async function expectReached(expected: string[]): Promise<void> {
    const seen = new Set<string>()
    await eventually(async () => {
      for (const address of await reached(EVERYTHING)) seen.add(address)
      expect(expected.filter(address => !seen.has(address))).toEqual([])
    })
    expect(EVERYTHING.filter(address => seen.has(address))).toEqual(
      EVERYTHING.filter(address => expected.includes(address)),
    )
  }

  /** Which of these addresses answer the machine, in their order. */
  async function reached(addresses: string[], port = OPEN_PORT): Promise<string[]> {
    const argv = addresses.flatMap(address => [address, String(port), hexOf(address)])
    const script = TRY.replace('SECONDS', String(TRY_S))
    const { stdout } = await engine.console.exec('one', ['perl', '-e', script, ...argv])
    const lines = new Set(stdout.split('\n'))
    return addresses.filter(address => lines.has(`${address}:${port}`))
  }
})

/** Answers each connection, inside a machine. */
const GREETER_INSIDE =
  `socket(S,2,1,0);bind(S,pack("Sna4x8",2,${OPEN_PORT},"\\0\\0\\0\\0"))or die;listen(S,9);` +
  'while(accept(C,S)){syswrite(C,"answer\\n");close C}'

/** The bytes of an address. */
function hexOf(address: string): string {
  const hex = (value: number, digits: number) => value.toString(16).padStart(digits, '0')
  if (!address.includes(':'))
    return address
      .split('.')
      .map(part => hex(Number(part), 2))
      .join('')
  const [left = [], right = []] = address.split('::').map(half => half.split(':').filter(Boolean))
  const parts = [...left, ...Array(8 - left.length - right.length).fill('0'), ...right]
  return parts.map(part => hex(Number.parseInt(part, 16), 4)).join('')
}
