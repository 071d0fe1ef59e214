import { createHash } from 'node:crypto'
import { COMMAND_PAUSES } from '../port/command-end.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { MachineSpec } from '../port/machines.ts'
import { prepareAgentFiles } from './agent-scripts.ts'
import { PROCESSES_MAX } from './enter-script.ts'
import { type FilterLoader, findFilterLoader } from './filter-loader.ts'
import { type ImageTools, insideTool } from './image-tools.ts'
import { IMAGE_ROOT, imageAgentCommand, planImageView } from './image-view.ts'
import type { LaunchPlan } from './launch-plan.ts'
import { type MachinePaths, type MachineRecord, machinePaths, makeMachineFolders } from './machine-store.ts'
import { usersFrom } from './machine-users.ts'
import { hostNetworkName } from './outbound-network.ts'
import { findLauncher } from './probe-sandbox.ts'
import { type AgentFiles, type BoundVolume, planRootView, writeEtc, writeInsideFile } from './root-view.ts'

/**
 * Where the user ids of machines begin when the gateway runs as root: above every range that distributions
 * and systemd hand out to people, services and containers.
 */
const MACHINE_UID_FIRST = 1_900_000_000
const MACHINE_UIDS = 100_000_000

const AGENT_COMMAND = [
  '/.berth/node',
  // The agent holds little; the limit keeps V8 from putting off its cleaning.
  '--max-old-space-size=64',
  '/.berth/agent/agent.mjs',
]

/** All that the launcher must know to start this machine with its agent. */
export function planMachine(options: {
  record: MachineRecord
  paths: MachinePaths
  agent: AgentFiles
  tools: ImageTools | { lacks: string }
  gpu_minors: number[]
  mounts: BoundVolume[]
  processesMax: number
  filter: FilterLoader
  network: LaunchPlan['network']
}): LaunchPlan {
  const { record, agent, paths, tools, processesMax } = options
  const { spec, uid, image } = record
  if (!image) return hostViewPlan({ ...options, spec, uid, command: AGENT_COMMAND })
  if ('lacks' in tools) throw new ComputeError('unsupported', tools.lacks)
  return {
    hostname: spec.hostname,
    network: options.network,
    ...planImageView({ ...options, agent, paths, tools, memory_mb: spec.memory_mb }),
    enter: {
      uid,
      processesMax,
      filter: tools.filter(IMAGE_ROOT, uid !== null && usersFrom(uid) > 1 ? image.user : null),
      host_network: hostNetworkName(),
      image: { user: image.user, shell: insideTool(tools, 'sh') },
    },
    mount_point: paths.root,
    info_fd: null,
    command: imageAgentCommand(tools, AGENT_COMMAND),
  }
}

/** The plan of a machine on the computer's own programs, with a command of the caller's. */
export function hostViewPlan(options: {
  spec: Pick<MachineSpec, 'hostname' | 'memory_mb'>
  uid: number | null
  paths: MachinePaths
  agent: AgentFiles
  gpu_minors?: number[]
  mounts?: BoundVolume[]
  processesMax: number
  filter: FilterLoader
  /** Without it, one of its own. */
  network?: LaunchPlan['network']
  command: string[]
}): LaunchPlan {
  const { spec, uid, paths, agent, gpu_minors = [], mounts = [], processesMax, filter } = options
  return {
    hostname: spec.hostname,
    network: options.network ?? 'own',
    steps: planRootView({ paths, agent, memory_mb: spec.memory_mb, gpu_minors, mounts }),
    read_only: ['/'],
    enter: { uid, processesMax, filter: filter.words, host_network: hostNetworkName() },
    mount_point: paths.root,
    info_fd: null,
    command: options.command,
  }
}

/** The user id that a machine gets for its own; null when the gateway is not root and cannot give any. */
export function machineUid(installation: string, id: string): number | null {
  if (process.getuid?.() !== 0) return null
  const digest = createHash('sha256').update(`${installation}/${id}`).digest()
  return MACHINE_UID_FIRST + (digest.readUInt32BE(0) % MACHINE_UIDS)
}

/**
 * The exact arguments by which the driver would start such a machine, with a command of the caller's own in
 * the agent's place: for benchmarks that start the same sandbox by hand, and for looking around in one from a
 * shell. Makes the machine's folders under `dataDir`; uses no limits, no sockets and no extra open files.
 * Fails with an `Error` where no sandbox can run.
 */
export async function sandboxArgv(
  dataDir: string,
  spec: Pick<MachineSpec, 'id' | 'hostname' | 'memory_mb'>,
  command: string[],
): Promise<string[]> {
  const { launcher, ...found } = await findLauncher(null)
  if (!launcher) throw new Error('why' in found ? found.why : 'no sandbox here')
  const paths = machinePaths(dataDir, spec.id)
  const uid = machineUid('by-hand', spec.id)
  await makeMachineFolders(paths, uid)
  await writeEtc(paths, spec.hostname)
  await writeInsideFile(paths, { command: null, on_command_end: 'keep', pauses: COMMAND_PAUSES, env: {} })
  const agent = await prepareAgentFiles(dataDir)
  const filter = await findFilterLoader(agent.scripts)
  return launcher.argv(
    hostViewPlan({ spec, uid, paths, agent, processesMax: PROCESSES_MAX, filter, command }),
  )
}
