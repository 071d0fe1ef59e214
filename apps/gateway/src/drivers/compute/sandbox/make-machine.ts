import type { MachineSpec } from '../port/machines.ts'
import type { HomeImages } from './home-images.ts'
import type { LayImage } from './lay-image.ts'
import { type MachineRecord, type MachineStore, makeMachineFolders } from './machine-store.ts'
import { machineUid } from './plan-machine.ts'
import { seedHome } from './root-view.ts'
import { registryReference } from './sandbox-recipe.ts'

export interface MakeMachineDeps {
  installation: string
  store: MachineStore
  /** What makes homes of a size of their own; null where they are plain folders. */
  homes: HomeImages | null
  layImage: LayImage
}

/** Lays the home of a new sandbox, which is its root where it is made from an image of a registry. */
export function createMachineMaker({ installation, store, homes, layImage }: MakeMachineDeps) {
  return async function make(spec: MachineSpec, signal: AbortSignal): Promise<MachineRecord> {
    const reference = registryReference(spec.image)
    // What an earlier try has laid of an image, and perhaps not all of it, is not to be a part of this machine.
    if (reference !== null) await store.remove(spec.id)
    const paths = store.paths(spec.id)
    const uid = machineUid(installation, spec.id)
    await makeMachineFolders(paths, uid)
    if (reference === null) await seedHome(paths, uid)
    await homes?.make(paths, uid, spec.disk_gb)
    const image = reference === null ? null : await layImage(spec, { reference, paths, uid }, signal)
    return { spec, uid, ...(image && { image }) }
  }
}
