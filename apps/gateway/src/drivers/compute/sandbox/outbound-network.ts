import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { readlinkSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ComputeError } from '../port/compute-error.ts'
import type { ComputeCapabilities } from '../port/engine.ts'
import { readLocalAddresses } from './local-addresses.ts'
import { around } from './machine-users.ts'
import { NETWORK_RATE_MIB_PER_S, networkRules } from './network-rules.ts'
import { attaching, HOLD_SCRIPT, NETWORK_REPORT } from './network-scripts.ts'

/** Rules take a few hundredths of a second; a computer that is very busy takes its time. */
const MAKE_TIMEOUT_MS = 20_000
const UP_TIMEOUT_MS = 5_000
const UP_POLL_MS = 5
const COMPLAINT_LENGTH_MAX = 300
/** Where distributions keep what only root needs. */
const PATH = '/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin'
/** What the trial of a computer is run as where the gateway is root. */
const TRIAL_UID = 1_899_999_999
/** What a machine's rules last took for this computer's own, in its run folder. */
export const NETWORK_LOCAL = 'network.local'

/** A way for machines to the internet, found to work here. */
export interface OutboundNetwork {
  how: string
  rate: string
  /**
   * Makes the network of a machine that is about to start.
   * @throws ComputeError where it cannot be made: a machine that should have one does not start without.
   */
  make(machine: { run: string; uid: number | null }): Promise<MachineNetwork>
}

export interface MachineNetwork {
  /** Goes before a launcher's own arguments, which makes no network then. */
  joining: string[]
  /** Whether it leads on by IPv6 as well. */
  reaches_ipv6: boolean
  /** Waits until the way out is there. @returns Whether it came in time; it may come later. */
  isUp(): Promise<boolean>
  /** To be called when the machine's processes are there, or are not going to be. */
  letGo(): void
}

/** The network that the gateway itself is in, which no machine may be in, as the kernel names it. */
export function hostNetworkName(): string {
  return networkNamespace('self')
}

/**
 * Finds the way, or why there is none, by trying it.
 * @param opened Private addresses and networks that machines may reach all the same.
 */
export async function findOutboundNetwork(
  opened: readonly string[],
): Promise<OutboundNetwork | { lacks: string }> {
  for (const [tool, what] of [
    ['slirp4netns', 'slirp4netns is not installed'],
    ['nft', 'nft, which would keep them from private networks, is not installed (nftables)'],
  ] as const) {
    if (!(await isThere(tool))) return { lacks: what }
  }
  const network: OutboundNetwork = {
    how: 'through slirp4netns, but no private network, metadata service or address of its computer',
    rate: `packet rules of its own network: ${NETWORK_RATE_MIB_PER_S} MiB a second in each direction`,
    make: machine => makeNetwork(machine, opened),
  }
  const why = await tryOut(network)
  return why === null ? network : { lacks: why }
}

/**
 * What an engine says of its machines' networks.
 * @param alone Where they lead without a way to the internet, in a clause; and what then bounds what they send.
 */
export function networkCapabilities(
  found: OutboundNetwork | { lacks: string },
  alone: { leads: string; rate: string },
): Pick<ComputeCapabilities, 'network_rate_limit' | 'outbound_network' | 'egress_filter'> {
  if ('lacks' in found) {
    return {
      network_rate_limit: { enforced: true, how: alone.rate },
      outbound_network: { offered: false, why: found.lacks },
      egress_filter: { enforced: true, how: alone.leads },
    }
  }
  return {
    network_rate_limit: { enforced: true, how: found.rate },
    outbound_network: { offered: true, how: found.how },
    egress_filter: { enforced: true, how: 'packet rules of each machine’s own network' },
  }
}

/** Brings up a network with nothing in it. Returns what went wrong, or null. */
async function tryOut(network: OutboundNetwork): Promise<string | null> {
  const run = await mkdtemp(join(tmpdir(), 'berth-network-'))
  try {
    const uid = process.getuid?.() === 0 ? TRIAL_UID : null
    const made = await network.make({ run, uid })
    const [file = '', ...args] = [...made.joining, 'cat']
    // It lasts as long as its input does.
    const inside = spawn(file, args, { env: { PATH }, stdio: ['pipe', 'ignore', 'pipe'] })
    const complaint = collect(inside)
    try {
      if (await made.isUp()) return null
      return `slirp4netns does not bring up a network here ${complaint()}`.trim()
    } finally {
      inside.stdin.end()
      made.letGo()
    }
  } catch (error) {
    return (error as Error).message
  } finally {
    await rm(run, { recursive: true, force: true })
  }
}

async function makeNetwork(
  { run, uid }: { run: string; uid: number | null },
  opened: readonly string[],
): Promise<MachineNetwork> {
  const local = await readLocalAddresses()
  const isRoot = process.getuid?.() === 0
  const become =
    uid === null || !isRoot ? [] : ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--']
  // An ordinary user's machine with users of its own is to begin where those are known.
  const users = isRoot || uid === null ? [] : around(uid)
  const space = ['unshare', ...(users.length > 0 ? [] : ['--user', '--map-root-user']), '--net', '--']
  const hold = ['/bin/sh', '-c', HOLD_SCRIPT, 'berth', networkRules(opened, local.networks)]
  const [file = '', ...args] = [...become, ...users, ...space, ...hold]
  const holder = spawn(file, args, { cwd: '/', env: { PATH }, stdio: ['pipe', 'pipe', 'pipe'] })
  holder.stdin.on('error', () => undefined)
  const letGo = () => {
    holder.stdin.end()
  }
  try {
    await ready(holder)
    const holder_pid = holder.pid ?? 0
    if (networkNamespace(holder_pid) === hostNetworkName()) throw new Error('no network of its own was made')
    await writeFile(join(run, NETWORK_LOCAL), local.networks.join('\n'))
    const report = join(run, NETWORK_REPORT)
    return {
      joining: attaching({ run, uid: isRoot ? uid : null, holder_pid, ipv6: local.reaches_ipv6 }),
      reaches_ipv6: local.reaches_ipv6,
      isUp: () => becomesUp(report),
      letGo,
    }
  } catch (error) {
    letGo()
    holder.kill('SIGKILL')
    throw new ComputeError('failed', `a machine’s network cannot be made: ${(error as Error).message}`)
  }
}

/** Waits for the holder's word. It fails with what the holder complained of. */
async function ready(holder: ChildProcess): Promise<void> {
  const complaint = collect(holder)
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('packet rules took too long')), MAKE_TIMEOUT_MS)
    holder.stdout?.once('data', () => resolve())
    holder.once('error', reject)
    holder.once('close', () => reject(new Error(complaint() || 'packet rules are not taken here')))
    holder.once('close', () => clearTimeout(timer))
    holder.stdout?.once('data', () => clearTimeout(timer))
  })
}

function collect(child: ChildProcess): () => string {
  let said = ''
  child.stderr?.on('data', chunk => {
    said = `${said}${chunk}`.slice(0, COMPLAINT_LENGTH_MAX)
  })
  return () => said.trim()
}

async function becomesUp(report: string): Promise<boolean> {
  const deadline = Date.now() + UP_TIMEOUT_MS
  while (!(await readNetworkReport(report))?.is_up) {
    if (Date.now() > deadline) return false
    await new Promise(resolve => setTimeout(resolve, UP_POLL_MS))
  }
  return true
}

/** Takes away what an earlier start left of a machine's network in its run folder. */
export async function forgetNetwork(run: string): Promise<void> {
  await rm(join(run, NETWORK_REPORT), { force: true })
}

/** What the keeper of a machine's network last said in this file; null where there is none. */
export async function readNetworkReport(
  path: string,
): Promise<{ keeper_pid: number; is_up: boolean } | null> {
  const text = await readFile(path, 'utf8').catch(() => '')
  const [, pid, states] = /^(\d+)\n([01]*)/.exec(text) ?? []
  return pid === undefined ? null : { keeper_pid: Number(pid), is_up: states?.endsWith('1') === true }
}

async function isThere(tool: string): Promise<boolean> {
  const asked = promisify(execFile)('/bin/sh', ['-c', 'command -v "$1"', 'berth', tool], { env: { PATH } })
  return asked.then(
    () => true,
    () => false,
  )
}

/** As the kernel names the network that a process is in. */
function networkNamespace(pid: number | 'self'): string {
  return readlinkSync(`/proc/${pid}/ns/net`)
}
