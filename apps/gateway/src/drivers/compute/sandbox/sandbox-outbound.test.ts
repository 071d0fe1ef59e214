import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../conformance/tools.ts'
import {
  ENGINE_ADDRESS,
  makeNetworks,
  OPEN_PORT,
  OUTSIDE,
  type TestNetworks,
} from '../docker/networks-fixture.ts'
import type { ComputeCapabilities } from '../port/engine.ts'
import type { MachineSample } from '../port/observation.ts'
import { NAME_SERVER_FILE, startNameServer } from './name-server-fixture.ts'
import { type Gateway, type GatewayOptions, openGateway } from './outbound-gateway-fixture.ts'
import { findOutboundNetwork } from './outbound-network.ts'
import { probeSandbox } from './probe-sandbox.ts'

const made = await makeNetworks()
const probe = await probeSandbox()
const found = await findOutboundNetwork([])
const missing = 'why' in made ? made.why : probe.ok ? ('lacks' in found ? found.lacks : null) : probe.why
if (missing !== null) process.stdout.write(`SKIP what sandboxes may reach: ${missing}\n`)

/** Public addresses of the computer itself, which are no list's. */
const OWN = ['203.0.113.77', '2001:db8:9::77']
const MOVED = '203.0.113.78'
/** An ordinary user, who owns nothing else. */
const USER = 71_234
const NAME = 'cloud.example'
/** Ways to what is closed: the helper's own addresses, every address, the loopback, and IPv4 within IPv6. */
const DETOURS = [
  ...[
    '198.51.100.2',
    '198.51.100.3',
    '198.51.100.255',
    '0.0.0.0',
    '127.0.0.1',
    '127.0.0.53',
    '255.255.255.255',
    '10.77.0.255',
  ],
  ...[
    '224.0.0.1',
    'fd00::2',
    'fd00::3',
    '::',
    '::1',
    'ff02::1',
    '::ffff:10.77.0.2',
    '64:ff9b::a4d:2',
    '2002:a4d:2::1',
  ],
]
const CLOSED = [...OUTSIDE.private, ...OUTSIDE.metadata, ENGINE_ADDRESS, ...OWN, ...DETOURS]

/** Says which of its arguments answer at the port, by TCP and by a datagram: all are tried at once. */
const TRY =
  'use Socket qw(:all);my $p=shift;for my $a(@ARGV){for my $t(SOCK_STREAM,SOCK_DGRAM){next if fork;alarm 2;' +
  'my $six=$a=~/:/;socket(S,$six?AF_INET6:AF_INET,$t,0);setsockopt(S,SOL_SOCKET,SO_BROADCAST,1);' +
  'my $to=$six?pack_sockaddr_in6($p,inet_pton(AF_INET6,$a)):pack_sockaddr_in($p,inet_aton($a));' +
  'connect(S,$to)or exit;syswrite S,"?" if $t==SOCK_DGRAM;print(($t==SOCK_STREAM?"tcp":"udp")." $a\\n")if sysread(S,$b,9);exit}}1 while wait>0'

/** Answers datagrams on each address that is an argument, from that address, and says whom it heard. */
const UDP_GREETER =
  'use Socket qw(:all);$|=1;my $p=shift;for my $a(@ARGV){next if fork;my $six=$a=~/:/;socket(S,$six?AF_INET6:AF_INET,SOCK_DGRAM,0);' +
  'bind(S,$six?pack_sockaddr_in6($p,inet_pton(AF_INET6,$a)):pack_sockaddr_in($p,inet_aton($a)))or die"$a $!";print".\\n";' +
  'while(my $from=recv(S,$b,99,0)){my($port)=$six?unpack_sockaddr_in6($from):unpack_sockaddr_in($from);print"$a $port\\n";send(S,"hello",0,$from)}}1 while wait>0'

const folder = mkdtempSync(join(tmpdir(), 'berth-outbound-'))

describe.skipIf(missing !== null)('what sandboxes may reach', () => {
  const networks = made as TestNetworks
  const servers: ChildProcess[] = []
  const gateways: Gateway[] = []
  let heard: string[] = []

  beforeAll(async () => {
    chmodSync(folder, 0o755)
    writeFileSync(join(folder, 'resolv.conf'), NAME_SERVER_FILE)
    for (const address of OWN) await networks.inside('engine', 'ip', 'addr', 'add', address, 'dev', 'lo')
    const known = [...OUTSIDE.public, ...OUTSIDE.private, ...OUTSIDE.metadata]
    heard = await serve('outside', UDP_GREETER, String(OPEN_PORT), ...known)
    await serve('engine', UDP_GREETER, String(OPEN_PORT), ENGINE_ADDRESS, ...OWN, '127.0.0.1')
    servers.push(await startNameServer(networks, { address: '203.0.113.9' }))
  })
  afterAll(async () => {
    for (const gateway of gateways) await gateway.end()
    for (const { pid } of servers) if (pid !== undefined) process.kill(-pid, 'SIGKILL')
    await networks.remove()
    rmSync(folder, { recursive: true, force: true })
  })

  describe.each([
    { of: 'root', launcher: 'bwrap', opened: [], also: [] },
    {
      of: 'an ordinary user',
      launcher: 'unshare',
      opened: ['192.168.7.0/24', 'fd99::7'],
      also: ['192.168.7.7', 'fd99::7'],
    },
  ])('by $launcher, of $of', ({ of, launcher, opened, also }) => {
    const uid = of === 'root' ? 0 : USER
    let gateway: Gateway
    beforeAll(async () => {
      gateway = await startGateway({ uid, launcher, opened })
      await gateway.ask({ do: 'start', id: 'one' })
    })
    afterAll(async () => {
      await gateway.ask({ do: 'remove', id: 'one' })
      await eventually(() => expect(helpers(uid)).toEqual([]))
    })

    test('the internet, by IPv4, IPv6 and name; not its computer, nor what is private, by whatever way', async () => {
      const both = [...OUTSIDE.public, ...also]
        .flatMap(address => [`tcp ${address}`, `udp ${address}`])
        .sort()
      // A router announces IPv6 a moment after the start.
      await eventually(async () => expect(await reached(gateway, OUTSIDE.public)).toHaveLength(4))
      expect(await reached(gateway, [...OUTSIDE.public, ...CLOSED])).toEqual(both)
      const name = await gateway.run('one', `getent ahostsv4 ${NAME} | head -1`)
      expect(name).toContain('203.0.113.9')
      const carried = (await gateway.ask({ do: 'sample', id: 'one' })) as MachineSample
      expect(carried.network_received_bytes).toBeGreaterThan(0)
      expect(carried.network_sent_bytes).toBeGreaterThan(0)
      // Name servers and nothing else, where they are.
      expect(await reached(gateway, ['127.0.0.53', '10.77.0.2', ...OUTSIDE.public], { port: 53 })).toEqual(
        OUTSIDE.public.map(address => `tcp ${address}`).sort(),
      )
    })

    test('a machine has no rights over its network, and the helper has none over anything', async () => {
      const tries = [
        'ip route add 10.77.0.0/24 dev tap0',
        'ip link set tap0 down',
        'nft flush ruleset',
        'ip addr add 1.2.3.4 dev tap0',
      ]
      for (const line of tries) expect((await gateway.exec('one', line)).exit_code).not.toBe(0)
      const raw =
        'use Socket;for([17,3,768],[2,3,1],[2,3,255],[10,3,58],[2,2,1]){print socket(S,$$_[0],$$_[1],$$_[2])?"open\\n":""}'
      expect(await gateway.run('one', `perl -e '${raw}'`)).toBe('')
      // Files of the start that are still open tell nothing of where they lay.
      expect(await gateway.run('one', 'ls -l /proc/1/fd')).not.toContain(folder)
      const [helper = 0] = helpers(uid)
      const status = readFileSync(`/proc/${helper}/status`, 'utf8')
      expect(status).not.toMatch(/^Uid:.*\t0\b/m)
      expect(status).toMatch(/^NoNewPrivs:\s*1$/m)
      expect(status).toMatch(/^Seccomp:\s*2$/m)
      // The right to low ports, in a user namespace that has none.
      expect(status).toMatch(/^CapEff:\s*0000000000000400$/m)
      expect(readdirSync(`/proc/${helper}/root`).sort()).toEqual(['etc', 'run'])
    })

    test('a helper that dies is replaced; one outlives the gateway’s kill -9, and never its machine', async () => {
      const [helper = 0] = helpers(uid)
      process.kill(helper, 'SIGKILL')
      await eventually(async () => expect(await reached(gateway, ['203.0.113.9'])).toHaveLength(2))
      const [replaced = 0] = helpers(uid)
      expect(replaced).not.toBe(helper)

      await gateway.kill()
      gateway = await startGateway({ uid, launcher, opened })
      expect(await gateway.ask({ do: 'status', id: 'one' })).toMatchObject({ state: 'running' })
      expect(helpers(uid)).toEqual([replaced])
      expect(await reached(gateway, ['203.0.113.9', ENGINE_ADDRESS])).toHaveLength(2)
      // Its keeper's end does not leave it behind either.
      process.kill(parentOf(replaced), 'SIGKILL')
      await gateway.ask({ do: 'stop', id: 'one' })
      await eventually(() => expect(helpers(uid)).toEqual([]))
      await gateway.ask({ do: 'start', id: 'one' })
    })
  })

  test('an address that its computer gets later is closed, and nobody answers who was not asked', async () => {
    const gateway = await startGateway({ uid: 0, launcher: 'bwrap', opened: [] })
    await gateway.ask({ do: 'start', id: 'two' })
    await networks.inside('engine', 'ip', 'addr', 'add', MOVED, 'dev', 'lo')
    await eventually(async () =>
      expect(await reached(gateway, [MOVED, '203.0.113.9'], { id: 'two' })).toEqual([
        'tcp 203.0.113.9',
        'udp 203.0.113.9',
      ]),
    )

    const listening = gateway.run('two', `perl -e '${WAIT_FOR_TWO}'`)
    const port = await eventually(() => {
      const last = heard.filter(line => line.startsWith('203.0.113.9 ')).at(-1)
      expect(heard.filter(line => line === last)).toHaveLength(2)
      return last?.split(' ')[1] ?? ''
    })
    const stranger = `use Socket;socket(S,2,2,0);send(S,"stranger",0,pack_sockaddr_in(${port},inet_aton("${ENGINE_ADDRESS}")))for 1..3`
    await networks.inside('outside', 'perl', '-e', stranger)
    expect(await listening).toBe('hello\nhello\n')
    await gateway.ask({ do: 'remove', id: 'two' })
  })

  test('without packet rules there is no way out, and it is said', async () => {
    const gateway = await startGateway({
      uid: 0,
      launcher: 'bwrap',
      opened: [],
      before: 'mount --bind /bin/false "$(command -v nft)"',
    })
    const { outbound_network } = (await gateway.ask({ do: 'capabilities' })) as ComputeCapabilities
    expect(outbound_network).toMatchObject({ offered: false, why: expect.stringContaining('packet rules') })
    await gateway.ask({ do: 'start', id: 'alone' })
    expect(await gateway.run('alone', 'ls /sys/class/net 2>/dev/null; cat /proc/net/dev | grep -c :')).toBe(
      '1\n',
    )
    expect(helpers(0)).toEqual([])
    await gateway.ask({ do: 'remove', id: 'alone' })
  })

  async function serve(where: 'engine' | 'outside', script: string, ...args: string[]): Promise<string[]> {
    const server = spawn('nsenter', [`--net=/run/netns/${networks[where]}`, 'perl', '-e', script, ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    })
    servers.push(server)
    const lines: string[] = []
    createInterface({ input: server.stdout }).on('line', line => lines.push(line))
    const expected = Math.max(1, args.length - 1)
    await eventually(() => expect(lines.filter(line => line === '.')).toHaveLength(expected))
    return lines
  }

  async function startGateway(options: Omit<GatewayOptions, 'folder'>) {
    const gateway = await openGateway(networks.engine, { folder, ...options })
    gateways.push(gateway)
    return gateway
  }

  /** Which of these answer the machine, by TCP or a datagram. */
  async function reached(
    gateway: Gateway,
    addresses: string[],
    { id = 'one', port = OPEN_PORT } = {},
  ): Promise<string[]> {
    const { stdout } = await gateway.exec(id, `perl -e '${TRY}' ${port} ${addresses.join(' ')}`)
    return stdout.split('\n').filter(Boolean).sort()
  }

  /** Helpers whose sockets are in the engine's network, of machines of a gateway that runs as this user. */
  function helpers(uid: number): number[] {
    const namespace = execFileSync(
      'nsenter',
      [`--net=/run/netns/${networks.engine}`, 'readlink', '/proc/self/ns/net'],
      { encoding: 'utf8' },
    )
    return readdirSync('/proc').flatMap(name => {
      try {
        const isHelper = readFileSync(`/proc/${name}/comm`, 'utf8') === 'slirp4netns\n'
        if (!isHelper || `${readlinkSync(`/proc/${name}/ns/net`)}\n` !== namespace) return []
        const owner = Number(/^Uid:\t(\d+)/m.exec(readFileSync(`/proc/${name}/status`, 'utf8'))?.[1])
        return (uid === 0 ? owner > 1_000_000 : owner === uid) ? [Number(name)] : []
      } catch {
        return []
      }
    })
  }
})

/** Asks twice, and says all that it hears until a while after. */
const WAIT_FOR_TWO =
  'use Socket;$|=1;socket(S,2,2,0);for(1,2){send(S,"?",0,pack_sockaddr_in(8080,inet_aton("203.0.113.9")));recv(S,$b,99,0);print"$b\\n"}' +
  '$SIG{ALRM}=sub{exit};alarm 2;while(defined recv(S,$b,99,0)){print"$b\\n"}'

function parentOf(pid: number): number {
  return Number(/^PPid:\t(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
}
