import { createHash } from 'node:crypto'
import { COMMAND_PAUSES } from '../port/command-end.ts'
import type { MachineSpec } from '../port/machines.ts'
import { prepareAgentFiles } from './agent-scripts.ts'
import { PROCESSES_MAX } from './enter-script.ts'
import { type FilterLoader, findFilterLoader } from './filter-loader.ts'
import type { LaunchPlan } from './launch-plan.ts'
import { type MachinePaths, type MachineRecord, machinePaths, makeMachineFolders } from './machine-store.ts'
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
  gpu_minors: number[]
  mounts: BoundVolume[]
  processesMax: number
  filter: FilterLoader
}): LaunchPlan {
  const { record, paths, agent, gpu_minors, mounts, filter } = options
  return {
    hostname: record.spec.hostname,
    steps: planRootView({ paths, agent, memory_mb: record.spec.memory_mb, gpu_minors, mounts }),
    enter: { uid: record.uid, processesMax: options.processesMax, filter: filter.words },
    mount_point: paths.root,
    info_fd: null,
    command: AGENT_COMMAND,
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
  return launcher.argv({
    hostname: spec.hostname,
    steps: planRootView({ paths, agent, memory_mb: spec.memory_mb, gpu_minors: [], mounts: [] }),
    enter: { uid, processesMax: PROCESSES_MAX, filter: filter.words },
    mount_point: paths.root,
    info_fd: null,
    command,
  })
}
