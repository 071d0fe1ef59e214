import type { ImageRecipe } from '../port/images.ts'
import type { MachineSpec } from '../port/machines.ts'

/**
 * What tests ask a driver for when they only need a machine: the least of everything, and no program of its own.
 * @param part What it is to have otherwise.
 */
export function smallMachine(id: string, image: ImageRecipe, part: Partial<MachineSpec> = {}): MachineSpec {
  return {
    id,
    hostname: id,
    image,
    cpu_count: 1,
    memory_mb: 256,
    disk_gb: 1,
    gpu_uuids: [],
    env: {},
    command: null,
    ports: [],
    ...part,
  }
}
