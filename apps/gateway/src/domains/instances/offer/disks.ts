import { type DeployBody, diskFaults } from '@berth/contract/instances'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Fleet } from '../../fleet/fleet.ts'

type Asked = Pick<DeployBody, 'data_disk_gb' | 'pod_volume_gb'>

/**
 * Refuses disks that do not go together.
 * @throws ApiError `validation_failed` with what `diskFaults` says.
 */
export function requireDisks(asked: Parameters<typeof diskFaults>[0]): void {
  const fields = diskFaults(asked)
  if (fields.length > 0) throw new ApiError('validation_failed', { fields })
}

/**
 * Of the engines that can make an instance those that keep a disk beside the machine's, where it asks for one.
 * @throws ApiError `validation_failed` with `own_disk_not_offered` where none does.
 */
export function keepersOf(fleet: Pick<Fleet, 'known'>, asked: Asked, engineIds: string[]): string[] {
  const { data_disk_gb, pod_volume_gb } = asked
  if (data_disk_gb === null && pod_volume_gb === null) return engineIds
  const able = engineIds.filter(id => fleet.known(id)?.facts?.volumes)
  if (able.length > 0) return able
  const path = data_disk_gb === null ? 'pod_volume_gb' : 'data_disk_gb'
  throw new ApiError('validation_failed', { fields: [{ path, rule: 'own_disk_not_offered' }] })
}

/**
 * Whether there is an engine that keeps such a disk, and whether all of them hold it to its size, as a check of a deploy.
 * @param engineIds Engines that can make the instance; null where none answers: then its region's are asked.
 */
export function ownDiskCheck(
  fleet: Pick<Fleet, 'engines'>,
  regionCode: string,
  engineIds: string[] | null,
): [boolean, string] {
  const inRegion = fleet.engines().filter(({ facts }) => facts?.region_codes.includes(regionCode))
  const asked = engineIds === null ? inRegion : inRegion.filter(({ id }) => engineIds.includes(id))
  const keepers = asked.flatMap(({ facts }) => facts?.volumes ?? [])
  if (keepers.length === 0) return [false, 'own_disk_none']
  const areHeld = keepers.every(({ fixed_size }) => fixed_size?.enforced)
  return [true, areHeld ? 'own_disk_held' : 'own_disk_not_held']
}
