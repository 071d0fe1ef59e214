import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { createLoop } from '../../../platform/loop.ts'
import { readLocalAddresses } from './local-addresses.ts'
import { createMachineStatus } from './machine-status.ts'
import type { MachineStore } from './machine-store.ts'
import { localRules } from './network-rules.ts'
import { NETWORK_REPORT } from './network-scripts.ts'
import { NETWORK_LOCAL, readNetworkReport } from './outbound-network.ts'

/** How long a new address of this computer may be open to machines. */
const LOOK_MS = 5_000
const PUT_TIMEOUT_MS = 20_000
const COMPLAINT_LENGTH_MAX = 300
const PATH = '/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin'

/** A machine that runs. */
interface NetworkedMachine {
  id: string
  /** Its run folder. */
  run: string
  first_pid: number
}

/**
 * Looks after the networks of machines that run, also of those that an earlier gateway started: keeps this computer's
 * own addresses closed to them as these change, and tells the log where the way out is gone or back.
 */
export function createNetworkWatch({ log, store }: { log: Logger; store: MachineStore }) {
  const { firstProcess } = createMachineStatus(store)
  const down = new Set<string>()

  async function running(): Promise<NetworkedMachine[]> {
    const found = (await store.ids()).map(async id => {
      const first = await firstProcess(id)
      return first ? [{ id, run: store.paths(id).run, first_pid: first.process.pid }] : []
    })
    return (await Promise.all(found)).flat()
  }

  async function look(): Promise<void> {
    const machines = await running()
    for (const id of down) if (!machines.some(machine => machine.id === id)) down.delete(id)
    if (machines.length === 0) return
    const { networks } = await readLocalAddresses()
    for (const machine of machines) await lookAt(machine, networks)
  }

  async function lookAt(machine: NetworkedMachine, local: string[]): Promise<void> {
    const { id, run } = machine
    const report = await readNetworkReport(join(run, NETWORK_REPORT))
    // One that was started without a way out.
    if (report === null) return
    if (report.is_up === down.has(id)) {
      if (report.is_up) log.info({ machine: id }, 'a machine has its way to the internet again')
      else log.warn({ machine: id }, 'a machine lost its way to the internet; its helper is started again')
      if (report.is_up) down.delete(id)
      else down.add(id)
    }
    const now = local.join('\n')
    const path = join(run, NETWORK_LOCAL)
    if ((await readFile(path, 'utf8').catch(() => null)) === now) return
    const complaint = await putRules(machine, report.keeper_pid, localRules(local))
    if (complaint === null) return writeFile(path, now)
    log.error({ machine: id, complaint }, 'new addresses of this computer are not closed to a machine')
  }

  const loop = createLoop({ name: 'network-watch', pauseMs: LOOK_MS, mayEnd: true, log, run: look })
  loop.start()
  return { close: loop.stop }
}

/** Puts rules in a machine's network. Who is not root takes the rights over it from its keeper's user namespace. */
async function putRules(
  { first_pid }: NetworkedMachine,
  keeper_pid: number,
  rules: string,
): Promise<string | null> {
  const user =
    process.getuid?.() === 0 ? [] : ['--preserve-credentials', `--user=/proc/${keeper_pid}/ns/user`]
  const args = [...user, `--net=/proc/${first_pid}/ns/net`, '--', 'nft', '-f', '-']
  const child = spawn('nsenter', args, {
    env: { PATH },
    timeout: PUT_TIMEOUT_MS,
    killSignal: 'SIGKILL',
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  let complaint = ''
  child.stderr.on('data', chunk => {
    complaint = `${complaint}${chunk}`.slice(0, COMPLAINT_LENGTH_MAX)
  })
  child.stdin.on('error', () => undefined)
  child.stdin.end(rules)
  const [code] = await once(child, 'close')
  return code === 0 ? null : complaint.trim() || 'nft was ended'
}
