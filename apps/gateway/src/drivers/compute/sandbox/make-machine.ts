import type { MachineSpec } from '../port/machines.ts'
import type { HomeImages } from './home-images.ts'
import type { ImageRoots } from './image-roots.ts'
import {
  type MachineImage,
  type MachineRecord,
  type MachineStore,
  makeMachineFolders,
} from './machine-store.ts'
import { machineUid } from './plan-machine.ts'
import { seedHome } from './root-view.ts'
import { referenceOf } from './sandbox-recipe.ts'
import type { UserRanges } from './user-ranges.ts'

export interface MakeMachineDeps {
  installation: string
  store: MachineStore
  /** What makes homes of a size of their own; null where they are plain folders. */
  homes: HomeImages | null
  roots: ImageRoots
  /** What gives machines of images users of their own; null where each has one. */
  ranges: Pick<UserRanges, 'take'> | null
}

/** Lays the home of a new sandbox, which is its root where it is made from an image of a registry. */
export function createMachineMaker(deps: MakeMachineDeps) {
  const { installation, store, homes, roots, ranges } = deps
  return async function make(spec: MachineSpec, signal: AbortSignal): Promise<MachineRecord> {
    const reference = referenceOf(spec.image)
    // What an earlier try has laid of an image, and perhaps not all of it, is not to be a part of this machine.
    if (reference !== null) await store.remove(spec.id)
    const paths = store.paths(spec.id)
    const hasMany = reference !== null && ranges !== null
    const uid = hasMany ? await ranges.take(spec.id) : machineUid(installation, spec.id)
    // The home of a machine of an image is given away with all that is laid into it.
    await makeMachineFolders(paths, reference === null ? uid : null)
    if (reference !== null) {
      const recordWith = (image: MachineImage): MachineRecord => ({ spec, uid, image })
      // It is written down while its image is held, so that nobody takes that for unused.
      const write = (image: MachineImage) => store.writeRecord(spec.id, recordWith(image))
      return recordWith(await roots.make(spec, { reference, paths, uid, write }, signal))
    }
    await seedHome(paths, uid)
    await homes?.make(paths, uid, spec.disk_gb)
    return { spec, uid }
  }
}
