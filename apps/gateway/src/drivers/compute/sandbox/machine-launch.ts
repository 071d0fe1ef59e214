import type { Logger } from 'pino'
import { nvidiaDeviceMinors } from '../nvidia.ts'
import { COMMAND_PAUSES } from '../port/command-end.ts'
import { ComputeError } from '../port/compute-error.ts'
import { createAgentClient } from './agent-client.ts'
import type { FilterLoader } from './filter-loader.ts'
import { homeMounting } from './home-images.ts'
import type { ImageRoots } from './image-roots.ts'
import type { ImageTools } from './image-tools.ts'
import { imageEnvironment, linkCheck } from './image-view.ts'
import { joiningNetwork } from './join-network.ts'
import { INFO_FD, launchMachine } from './launch.ts'
import type { Admission, Limiter } from './limiter.ts'
import {
  commandOf,
  type MachineRecord,
  type MachineStore,
  makeMachineFolders,
  type ProcessIdentity,
} from './machine-store.ts'
import { around } from './machine-users.ts'
import type { MachineNetwork, OutboundNetwork } from './outbound-network.ts'
import { planMachine } from './plan-machine.ts'
import type { Launcher } from './probe-sandbox.ts'
import { type AgentFiles, writeEtc, writeInsideFile } from './root-view.ts'
import { takeVolumes } from './take-volumes.ts'
import type { VolumeFolders } from './volume-folders.ts'

export interface MachineLaunchDeps {
  store: MachineStore
  folders: VolumeFolders
  launcher: Launcher
  limiter: Limiter
  agent: AgentFiles
  filter: FilterLoader
  /** What brings machines up whose root came from an image, or why there are none. */
  tools: ImageTools | { lacks: string }
  roots: ImageRoots
  processesMax: number
  /** The way to the internet; null where machines have none. */
  outbound: OutboundNetwork | null
  log: Logger
  /** Whether a machine runs. */
  runs(id: string): Promise<boolean>
}

/**
 * Starts the processes of a machine that does not run, with its limits, its home and its volumes.
 * @returns A function that gives the machine's first process.
 */
export function createMachineLaunch(deps: MachineLaunchDeps) {
  const { store, limiter } = deps

  /** Starts the machine's processes, all that it takes being ready. */
  async function startWith(
    ready: {
      id: string
      record: MachineRecord
      gpu_minors: number[]
      /** What mounts its home. */
      mounting: string[]
      admission: Admission
      network: MachineNetwork | null
    },
    signal: AbortSignal,
  ): Promise<ProcessIdentity> {
    const { id, record, admission, network } = ready
    const paths = store.paths(id)
    const mounts = await takeVolumes(deps, id, record)
    const plan = planMachine({ ...deps, ...ready, paths, mounts, network: network ? 'joined' : 'own' })
    const check = record.image ? linkCheck(paths, mounts) : []
    const launcher = deps.launcher.argv({ ...plan, info_fd: INFO_FD })
    const over = await deps.roots.words(record, paths)
    const users = network?.joining ?? around(record.uid)
    const argv = [...users, ...ready.mounting, ...over, ...check, ...launcher]
    const agent = createAgentClient(paths.run)
    return launchMachine({ paths, argv, admission, agent, signal })
  }

  return async function launch(
    id: string,
    record: MachineRecord,
    signal: AbortSignal,
  ): Promise<ProcessIdentity> {
    const { spec, image } = record
    const paths = store.paths(id)
    const gpu_minors = spec.gpu_uuids.length > 0 ? await nvidiaDeviceMinors(spec.gpu_uuids) : []
    if (gpu_minors.length < spec.gpu_uuids.length) {
      throw new ComputeError('unsupported', 'a GPU that the machine needs is not in this computer')
    }
    const visible = { NVIDIA_VISIBLE_DEVICES: spec.gpu_uuids.join(',') }
    await makeMachineFolders(paths, record.uid)
    const mounting = await homeMounting(paths)
    return joiningNetwork(deps, { id, paths, uid: record.uid }, async network => {
      try {
        const [admission] = await Promise.all([
          limiter.prepare(id, { ...spec, processesMax: deps.processesMax }),
          writeEtc(paths, spec.hostname),
          writeInsideFile(paths, {
            command: commandOf(record),
            on_command_end: (spec.command && spec.on_command_end) ?? 'keep',
            pauses: COMMAND_PAUSES,
            env: {
              ...(image && imageEnvironment(image)),
              ...(gpu_minors.length > 0 && visible),
              ...spec.env,
            },
            ...(image && { cwd: image.working_dir, stores_in: '/', own_disk: mounting.length > 0 }),
          }),
        ])
        const ready = { id, record, gpu_minors, mounting, admission, network: await network }
        return await startWith(ready, signal)
      } catch (error) {
        await limiter.release(id)
        throw error
      }
    })
  }
}
