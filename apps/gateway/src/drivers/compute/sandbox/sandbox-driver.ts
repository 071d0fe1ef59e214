import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { mkdir, open, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { HOSTNAME_PATTERN, MACHINE_ID_PATTERN } from '../machine-id.ts'
import { listNvidiaGpus } from '../nvidia.ts'
import { type ComputeCapabilities, type ComputeDriver, ComputeError, type MachineSpec } from '../port.ts'
import { prepareAgentFiles } from './agent-scripts.ts'
import { PROCESSES_MAX } from './enter-script.ts'
import { COMMAND_LOG } from './launch.ts'
import type { Limiter } from './limiter.ts'
import { createLimiter } from './limits.ts'
import { createMachineLife } from './machine-life.ts'
import { createMachineStore } from './machine-store.ts'
import { findLauncher, type Launcher, type LauncherName } from './probe-sandbox.ts'
import { createStatsReader } from './stats-reader.ts'

export interface SandboxDeps {
  /** A folder for the driver alone. Two gateways with different ones never see each other's machines. */
  dataDir: string
  log: Logger
  /** Which way of making namespaces to use; without it the best that works here. */
  launcher?: LauncherName
  /** Most processes and threads of one machine. */
  processesMax?: number
}

/** How much of the end of the command's log is read for `logs`. */
const LOG_BYTES_READ_MAX = 1024 * 1024

/**
 * The driver that needs nothing but Linux: each machine is a set of namespaces on this computer. Fails with
 * `unsupported` where that cannot work (ask `probeSandbox` first). Machines outlive the gateway's crash; a new
 * driver on the same `dataDir` finds them again.
 */
export async function createSandboxDriver(deps: SandboxDeps): Promise<ComputeDriver> {
  const { launcher, ...found } = await findLauncher(deps.launcher ?? null)
  if (!launcher) throw new ComputeError('unsupported', 'why' in found ? found.why : 'no launcher')
  await mkdir(deps.dataDir, { recursive: true, mode: 0o700 })
  const dataDir = await realpath(deps.dataDir)
  const installation = createHash('sha256').update(dataDir).digest('hex').slice(0, 10)
  const log = deps.log.child({ driver: 'sandbox' })
  const [limiter, agent] = await Promise.all([createLimiter(installation), prepareAgentFiles(dataDir)])
  const store = createMachineStore(dataDir)
  const processes_max = deps.processesMax ?? PROCESSES_MAX
  const life = createMachineLife({ installation, store, launcher, limiter, agent, processes_max, log })
  const statsReader = createStatsReader(limiter)
  const found_running = await life.takeOver()
  log.info({ launcher: launcher.name, found_running: found_running.length }, 'sandbox ready')

  /** Machines that are not there and machines that do not run refuse in the same way; this tells them apart. */
  const talk = async <T>(id: string, work: () => Promise<T>): Promise<T> => {
    await life.mustExist(id)
    return work()
  }

  return {
    name: 'sandbox',
    capabilities: capabilitiesOf(launcher, limiter),
    gpus: listNvidiaGpus,
    // The computer's own programs need no pull.
    hasImage: async image => image.sandbox !== null,
    pull: async image => {
      if (!image.sandbox) throw new ComputeError('image_unavailable', `${image.id} cannot run in a sandbox`)
    },
    create: async (spec, signal) => {
      checkSpec(spec)
      await life.create(spec, signal)
    },
    start: life.start,
    stop: life.stop,
    remove: async (id, signal) => {
      await life.remove(id, signal)
      statsReader.forget(id)
    },
    status: life.status,
    list: life.list,
    watch: life.watch,
    openPty: (id, options) => talk(id, () => life.agentOf(id).openPty(options)),
    exec: (id, argv, options) => talk(id, () => life.agentOf(id).exec(argv, options ?? {})),
    connect: (id, port) => talk(id, () => life.agentOf(id).connect(port)),
    stats: async id => {
      const { spec } = await life.mustExist(id)
      return statsReader.read(id, life.agentOf(id), spec.memory_mb)
    },
    logs: async (id, { lines_max }) => {
      await life.mustExist(id)
      return tail(join(store.paths(id).run, COMMAND_LOG), lines_max)
    },
    shutdown: () => life.stopAll(),
  }
}

function checkSpec(spec: MachineSpec): void {
  if (!MACHINE_ID_PATTERN.test(spec.id)) throw new ComputeError('unsupported', `not a machine id: ${spec.id}`)
  if (!HOSTNAME_PATTERN.test(spec.hostname)) {
    throw new ComputeError('unsupported', `not a hostname: ${spec.hostname}`)
  }
  if (!spec.image.sandbox) {
    throw new ComputeError('image_unavailable', `${spec.image.id} cannot run in a sandbox`)
  }
}

function capabilitiesOf(launcher: Launcher, limiter: Limiter): ComputeCapabilities {
  return {
    isolation:
      'A sandbox on the gateway’s own computer: Linux namespaces through ' +
      `${launcher.name === 'bwrap' ? 'bubblewrap' : 'unshare'}, with the host’s programs read-only and no rights. ` +
      'It shares the host’s kernel, so it is for people who trust each other, not for strangers.',
    cpu_limit: limiter.cpu,
    memory_limit: limiter.memory,
    disk_limit: { enforced: false, why: 'homes are plain folders on the gateway’s disk, without a quota' },
    outbound_network: false,
  }
}

/** The last lines of a file that a machine may write to; the file may be absent. */
async function tail(path: string, linesMax: number): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch(() => null)
  if (!file) return ''
  try {
    const { size } = await file.stat()
    const bytes = Math.min(size, LOG_BYTES_READ_MAX)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, size - bytes)
    const lines = buffer.subarray(0, bytesRead).toString().trimEnd().split('\n')
    return lines.slice(-linesMax).join('\n')
  } finally {
    await file.close()
  }
}
