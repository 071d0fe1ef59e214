import { nvidiaDeviceMinors } from '../nvidia.ts'
import { COMMAND_PAUSES } from '../port/command-end.ts'
import { ComputeError } from '../port/compute-error.ts'
import { createAgentClient } from './agent-client.ts'
import type { FilterLoader } from './filter-loader.ts'
import { homeMounting } from './home-images.ts'
import type { ImageRoots } from './image-roots.ts'
import type { ImageTools } from './image-tools.ts'
import { imageEnvironment, linkCheck } from './image-view.ts'
import { INFO_FD, launchMachine } from './launch.ts'
import type { Limiter } from './limiter.ts'
import {
  commandOf,
  type MachineRecord,
  type MachineStore,
  makeMachineFolders,
  type ProcessIdentity,
} from './machine-store.ts'
import { planMachine } from './plan-machine.ts'
import type { Launcher } from './probe-sandbox.ts'
import { type AgentFiles, type BoundVolume, writeEtc, writeInsideFile } from './root-view.ts'
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
  /** Whether a machine runs. */
  runs(id: string): Promise<boolean>
}

/**
 * Starts the processes of a machine that does not run, with its limits, its home and its volumes.
 * @returns A function that gives the machine's first process.
 */
export function createMachineLaunch(deps: MachineLaunchDeps) {
  const { store, limiter } = deps

  /** Readies the volumes of a machine that is about to start, each of which one machine at a time may use. */
  async function takeVolumes(id: string, { spec, uid }: MachineRecord): Promise<BoundVolume[]> {
    const mounts: BoundVolume[] = []
    for (const volume of spec.volumes ?? []) {
      for (const other of await store.ids()) {
        const has = (await store.readRecord(other))?.spec.volumes?.some(one => one.id === volume.id)
        if (other !== id && has && (await deps.runs(other))) {
          throw new ComputeError('failed', `the volume ${volume.id} is in use by the machine ${other}`)
        }
      }
      mounts.push({ ...volume, from: await deps.folders.give(volume.id, uid) })
    }
    return mounts
  }

  return async function launch(
    id: string,
    record: MachineRecord,
    signal: AbortSignal,
  ): Promise<ProcessIdentity> {
    const { spec } = record
    const paths = store.paths(id)
    const gpu_minors = spec.gpu_uuids.length > 0 ? await nvidiaDeviceMinors(spec.gpu_uuids) : []
    if (gpu_minors.length < spec.gpu_uuids.length) {
      throw new ComputeError('unsupported', 'a GPU that the machine needs is not in this computer')
    }
    const visible = { NVIDIA_VISIBLE_DEVICES: spec.gpu_uuids.join(',') }
    const { image } = record
    const mounting = await homeMounting(paths)
    const over = await deps.roots.words(record, paths)
    const [admission] = await Promise.all([
      limiter.prepare(id, { ...spec, processesMax: deps.processesMax }),
      makeMachineFolders(paths, record.uid),
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
    const mounts = await takeVolumes(id, record)
    const plan = planMachine({ ...deps, record, paths, gpu_minors, mounts })
    try {
      const check = image ? linkCheck(paths, mounts) : []
      const launcher = deps.launcher.argv({ ...plan, info_fd: INFO_FD })
      const argv = [...mounting, ...over, ...check, ...launcher]
      return await launchMachine({ paths, argv, admission, agent: createAgentClient(paths.run), signal })
    } catch (error) {
      await limiter.release(id)
      throw error
    }
  }
}
