import { createKeyedQueue } from '../keyed-queue.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { VolumeStore } from '../port/volumes.ts'
import { toComputeError } from './launch.ts'
import type { MachineStore } from './machine-store.ts'
import type { VolumeFolders } from './volume-folders.ts'

const NOT_HELD = {
  enforced: false,
  why: 'volumes are plain folders on this computer’s disk, without a quota',
} as const

/** Volumes of a sandbox host. A machine that names one, running or not, has it attached. */
export function createSandboxVolumes(store: MachineStore, folders: VolumeFolders): VolumeStore {
  const queue = createKeyedQueue()
  const change = (id: string, work: () => Promise<void>) =>
    queue(id, () =>
      work().catch(error => {
        throw toComputeError(error)
      }),
    )

  async function holderOf(id: string): Promise<string | null> {
    for (const machine of await store.ids()) {
      const record = await store.readRecord(machine)
      if (record?.spec.volumes?.some(volume => volume.id === id)) return machine
    }
    return null
  }

  return {
    size_limit: NOT_HELD,
    fixed_size_limit: NOT_HELD,
    sharing: {
      offered: false,
      why: 'each sandbox has users of its own, to whom all that a volume holds is given when it starts',
    },
    make: ({ id }) => change(id, () => folders.make(id)),
    grow: ({ id }) => change(id, async () => void (await folders.mustExist(id))),
    delete: id =>
      change(id, async () => {
        const holder = await holderOf(id)
        if (holder !== null) {
          throw new ComputeError('failed', `the machine ${holder} has the volume ${id} attached`)
        }
        await folders.delete(id)
      }),
    list: () => folders.list(),
  }
}
