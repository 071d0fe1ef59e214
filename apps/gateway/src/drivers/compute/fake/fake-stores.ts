import { MACHINE_ID_PATTERN } from '../machine-id.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { MachineSpec } from '../port/machines.ts'
import type { VolumeStore } from '../port/volumes.ts'
import type { Faults } from './faults.ts'

interface StoreDeps {
  faults: Faults
  /** The engine's machines, some of which may have a volume. */
  held: ReadonlyMap<string, { spec: MachineSpec | null }>
}

/** Volumes as names in memory. */
export function createFakeVolumes({
  faults,
  held,
  volumes,
  volumeBytes,
  shared,
  calls,
}: StoreDeps & {
  volumes: Set<string>
  volumeBytes: Map<string, number>
  shared: boolean
  calls: string[]
}): VolumeStore {
  return {
    size_limit: { enforced: false, why: 'the fake engine has no disk' },
    fixed_size_limit: { enforced: false, why: 'the fake engine has no disk' },
    sharing: shared ? { offered: true } : { offered: false, why: 'the fake engine was told so' },
    async make({ id }) {
      checkId(id)
      await faults.pass('makeVolume', null)
      volumes.add(id)
    },
    async grow({ id }) {
      checkId(id)
      await faults.pass('growVolume', null)
      if (!volumes.has(id)) throw new ComputeError('not_found', `no volume ${id}`)
    },
    async delete(id) {
      checkId(id)
      await faults.pass('deleteVolume', null)
      const user = [...held].find(([, { spec }]) => spec?.volumes?.some(volume => volume.id === id))
      if (user) throw new ComputeError('failed', `the machine ${user[0]} has the volume ${id} attached`)
      volumes.delete(id)
    },
    async measure(id) {
      checkId(id)
      await faults.pass('measureVolume', null)
      if (!volumes.has(id)) throw new ComputeError('not_found', `no volume ${id}`)
      const used_bytes = volumeBytes.get(id) ?? 0
      return Number.isFinite(used_bytes) ? { used_bytes } : null
    },
    async folder() {
      return { lacks: 'the fake engine has no disk' }
    },
    copies: {
      async copy({ from, id, bytes_max }, signal) {
        checkId(id)
        calls.push(`copyVolume ${from} ${id}`)
        if (volumes.has(id)) return { used_bytes: volumeBytes.get(id) ?? 0 }
        if (!volumes.has(from)) throw new ComputeError('not_found', `no volume ${from}`)
        const used_bytes = volumeBytes.get(from) ?? 0
        await faults.pass('copyVolume', signal)
        if (used_bytes > bytes_max) throw new ComputeError('failed', `the volume ${from} holds too much`)
        volumes.add(id)
        volumeBytes.set(id, used_bytes)
        return { used_bytes }
      },
    },
    async list() {
      await faults.pass('listVolumes', null)
      return [...volumes]
    },
  }
}

function checkId(id: string): void {
  if (!MACHINE_ID_PATTERN.test(id)) throw new ComputeError('unsupported', `not an id: ${id}`)
}
