import { MACHINE_ID_PATTERN } from './machine-id.ts'
import { ComputeError } from './port/compute-error.ts'
import type { MachineSpec } from './port/machines.ts'
import type { VolumeMount } from './port/volumes.ts'

/** Most volumes of one machine. */
const MOUNTS_MAX = 16
const PATH_PATTERN = /^(\/[A-Za-z0-9_][A-Za-z0-9._-]{0,63}){1,8}$/
/** What a machine needs to be one, and what does not last. */
const RESERVED = /^\/(bin|boot|dev|etc|lib|lib32|lib64|libx32|proc|run|sbin|sys|tmp|usr|var)(\/|$)/

/** What a machine may store, GB: where a disk is watched, what it takes is held against that. */
export function givenGb({ disk_gb, volumes = [] }: Pick<MachineSpec, 'disk_gb' | 'volumes'>): number {
  return volumes.reduce((sum, { size_gb = 0 }) => sum + size_gb, disk_gb)
}

/**
 * Refuses mounts that could not work, or that would stand in the place of something that a machine needs. No mount is
 * inside another: what a machine wrote there must never decide where something is mounted.
 * @throws ComputeError `unsupported`.
 */
export function checkMounts(mounts: readonly VolumeMount[]): void {
  const refuse = (why: string) => {
    throw new ComputeError('unsupported', why)
  }
  if (mounts.length > MOUNTS_MAX) refuse(`a machine has at most ${MOUNTS_MAX} volumes`)
  for (const [at, { id, path }] of mounts.entries()) {
    if (!MACHINE_ID_PATTERN.test(id)) refuse(`not a volume id: ${id}`)
    if (!PATH_PATTERN.test(path) || RESERVED.test(`${path}/`)) refuse(`no volume can be attached at ${path}`)
    for (const other of mounts.slice(at + 1)) {
      const [a, b] = [`${path}/`, `${other.path}/`]
      if (a.startsWith(b) || b.startsWith(a)) refuse(`one volume is inside another at ${path}`)
      if (id === other.id) refuse(`the volume ${id} is attached twice`)
    }
  }
}
