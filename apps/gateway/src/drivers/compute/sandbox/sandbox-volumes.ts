import { createKeyedQueue } from '../keyed-queue.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { Part } from '../port/part.ts'
import type { VolumeCopies, VolumeSpec, VolumeStore, VolumeUse } from '../port/volumes.ts'
import { toComputeError } from './launch.ts'
import type { MachineStore } from './machine-store.ts'

/** Where volumes lie, and what is said of them. */
export interface KeptVolumes {
  said: Pick<VolumeStore, 'size_limit' | 'fixed_size_limit' | 'sharing'>
  make(volume: VolumeSpec): Promise<void>
  grow(volume: VolumeSpec): Promise<void>
  delete(id: string): Promise<void>
  measure(id: string): Promise<VolumeUse | null>
  folder: VolumeStore['folder']
  copies: Part<VolumeCopies>
  list(): Promise<string[]>
}

/** Volumes of a host whose machines are in a store. A machine that names one, running or not, has it attached. */
export function createSandboxVolumes(store: MachineStore, kept: KeptVolumes): VolumeStore {
  const queue = createKeyedQueue()
  const { copies } = kept
  const change = <T>(id: string, work: () => Promise<T>) =>
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
    ...kept.said,
    make: volume => change(volume.id, () => kept.make(volume)),
    grow: volume => change(volume.id, () => kept.grow(volume)),
    delete: id =>
      change(id, async () => {
        const holder = await holderOf(id)
        if (holder !== null) {
          throw new ComputeError('failed', `the machine ${holder} has the volume ${id} attached`)
        }
        await kept.delete(id)
      }),
    // Whatever is done with it meanwhile: what is counted is old in the next moment anyhow.
    measure: id => kept.measure(id),
    folder: id => kept.folder(id),
    copies:
      'lacks' in copies
        ? copies
        : {
            // What is copied is not held up by it: where it is deleted meanwhile, the copy fails.
            copy: (order, signal) => change(order.id, () => copies.copy(order, signal)),
          },
    list: () => kept.list(),
  }
}
