import { ComputeError } from '../port/compute-error.ts'
import type { MachineRecord, MachineStore } from './machine-store.ts'
import type { BoundVolume } from './root-view.ts'

interface TakeDeps {
  store: Pick<MachineStore, 'ids' | 'readRecord'>
  /** Where volumes lie; `give` readies one for a machine that is that user outside. */
  folders: { give(id: string, uid: number | null): Promise<string> }
  /** Whether a machine runs. */
  runs(id: string): Promise<boolean>
}

/**
 * Readies the volumes of a machine that is about to start, each of which one machine at a time may use.
 * @returns Each with where it lies.
 * @throws ComputeError `failed` where another machine runs with one, `not_found` where one is not there.
 */
export async function takeVolumes(
  { store, folders, runs }: TakeDeps,
  id: string,
  { spec, uid }: Pick<MachineRecord, 'spec' | 'uid'>,
): Promise<BoundVolume[]> {
  const mounts: BoundVolume[] = []
  for (const volume of spec.volumes ?? []) {
    for (const other of await store.ids()) {
      const has = (await store.readRecord(other))?.spec.volumes?.some(one => one.id === volume.id)
      if (other !== id && has && (await runs(other))) {
        throw new ComputeError('failed', `the volume ${volume.id} is in use by the machine ${other}`)
      }
    }
    mounts.push({ ...volume, from: await folders.give(volume.id, uid) })
  }
  return mounts
}
