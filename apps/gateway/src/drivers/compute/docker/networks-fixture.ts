import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Of the engine's computer, on its link to everybody else. */
export const ENGINE_ADDRESS = '10.77.0.1'
/** Where every listener of a test answers with its own address. */
export const OPEN_PORT = 8080
const DNS_PORT = 53

/** What stands in for the world: each address is that of one namespace of the test's own, and nothing leaves it. */
export const OUTSIDE = {
  public: ['203.0.113.9', '2001:db8:9::9'],
  private: ['10.77.0.2', '172.30.7.7', '192.168.7.7', '100.64.7.7', 'fd00:77::2', 'fd99::7'],
  metadata: ['169.254.169.254', '168.63.129.16', '100.100.100.200', 'fd00:ec2::254'],
}

/** Answers every connection with the address that it came to; its ports are its arguments. */
const GREETER =
  'use Socket qw(:all);for(@ARGV){next if fork;socket(S,AF_INET6,SOCK_STREAM,0);setsockopt(S,SOL_SOCKET,SO_REUSEADDR,1);' +
  'bind(S,pack_sockaddr_in6($_,"\\0"x16))or die;listen(S,99);syswrite(STDOUT,".");while(accept(C,S)){syswrite(C,"hello");close C}}' +
  '1 while wait>0'

/** Two network namespaces: the computer of an engine, and everything that lies around it. */
export interface TestNetworks {
  engine: string
  outside: string
  /** Runs a program in one of them, and gives what it wrote. */
  inside(namespace: 'engine' | 'outside', program: string, ...args: string[]): Promise<string>
  remove(): Promise<void>
}

/**
 * Makes them, with a listener on every address of both; on `OPEN_PORT`, and outside on the port of name servers, too.
 * @returns Or why that cannot be done here.
 */
export async function makeNetworks(): Promise<TestNetworks | { why: string }> {
  if (process.getuid?.() !== 0) return { why: 'only root can make network namespaces' }
  const name = randomBytes(3).toString('hex')
  const names = { engine: `berth-e-${name}`, outside: `berth-o-${name}` }
  const ip = (...args: string[]) => run('ip', args)
  const listeners: ChildProcess[] = []
  const inside: TestNetworks['inside'] = async (namespace, program, ...args) =>
    (await run('nsenter', [`--net=/run/netns/${names[namespace]}`, program, ...args])).stdout

  async function remove(): Promise<void> {
    for (const listener of listeners) if (listener.pid !== undefined) process.kill(-listener.pid, 'SIGKILL')
    for (const namespace of Object.values(names)) await ip('netns', 'del', namespace).catch(() => undefined)
  }

  async function listen(namespace: 'engine' | 'outside', ports: number[]): Promise<void> {
    const args = [`--net=/run/netns/${names[namespace]}`, 'perl', '-e', GREETER, ...ports.map(String)]
    // It has none of the run's own outputs: one that is left over would hold the run open.
    const listener = spawn('nsenter', args, { stdio: ['ignore', 'pipe', 'ignore'], detached: true })
    listeners.push(listener)
    let up = 0
    // Two that come at once are one piece.
    listener.stdout.on('data', (dots: Buffer) => {
      up += dots.length
    })
    while (up < ports.length) await once(listener.stdout, 'data')
  }

  try {
    for (const namespace of Object.values(names)) await ip('netns', 'add', namespace)
    const [engine, outside] = [`e${name}`, `o${name}`]
    await ip(
      'link',
      'add',
      engine,
      'netns',
      names.engine,
      'type',
      'veth',
      'peer',
      'name',
      outside,
      'netns',
      names.outside,
    )
    const inEngine = (...args: string[]) => inside('engine', 'ip', ...args)
    const inOutside = (...args: string[]) => inside('outside', 'ip', ...args)
    await inEngine('addr', 'add', `${ENGINE_ADDRESS}/24`, 'dev', engine)
    await inEngine('addr', 'add', 'fd00:77::1/64', 'dev', engine, 'nodad')
    for (const address of [...Object.values(OUTSIDE).flat(), ...(await nameServers())]) {
      const isLink = address === '10.77.0.2' ? '/24' : address === 'fd00:77::2' ? '/64' : ''
      await inOutside(
        'addr',
        'add',
        `${address}${isLink}`,
        'dev',
        outside,
        ...(address.includes(':') ? ['nodad'] : []),
      )
    }
    for (const up of ['lo', engine]) await inEngine('link', 'set', up, 'up')
    for (const up of ['lo', outside]) await inOutside('link', 'set', up, 'up')
    await inEngine('route', 'add', 'default', 'via', '10.77.0.2')
    await inEngine('-6', 'route', 'add', 'default', 'via', 'fd00:77::2')
    await inOutside('-6', 'route', 'add', 'default', 'via', 'fd00:77::1')
    await inside('engine', 'sh', '-c', 'echo 1 > /proc/sys/net/ipv6/conf/all/forwarding')
    await listen('engine', [OPEN_PORT])
    await listen('outside', [OPEN_PORT, DNS_PORT])
    return { ...names, inside, remove }
  } catch (error) {
    await remove()
    return { why: `network namespaces cannot be made: ${(error as Error).message}` }
  }
}

/** The IPv4 name servers of this computer, but for those that are itself: Docker asks them for its machines. */
export async function nameServers(): Promise<string[]> {
  const text = await readFile('/etc/resolv.conf', 'utf8').catch(() => '')
  return [...text.matchAll(/^nameserver\s+([0-9.]+)$/gm)]
    .flatMap(([, address]) => address ?? [])
    .filter(address => !address.startsWith('127.'))
}
