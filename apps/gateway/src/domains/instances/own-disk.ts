import { DATA_DISK_PATH } from '@berth/contract/limits'
import { and, eq, isNotNull, isNull, or } from 'drizzle-orm'
import type { Queryable } from '../../platform/database/database.ts'
import type { InstanceRow } from './rows.ts'
import { instance } from './tables.ts'

/** The columns that say which disk an instance has for itself beside the one that it starts from. */
export type OwnDiskColumns = Pick<InstanceRow, 'dataDiskGb' | 'podVolumeGb' | 'podVolumePath'>

/** A disk that an instance has for itself: it keeps what it holds whatever becomes of the machine, and goes with the instance. */
export interface OwnDisk {
  kind: 'data_disk' | 'pod_volume'
  sizeGb: number
  /** Where it stands in the machine. */
  path: string
}

/** The disk that an instance has beside its container or system disk (R3.5); null where it has none. */
export function ownDiskOf({ dataDiskGb, podVolumeGb, podVolumePath }: OwnDiskColumns): OwnDisk | null {
  if (dataDiskGb !== null) return { kind: 'data_disk', sizeGb: dataDiskGb, path: DATA_DISK_PATH }
  if (podVolumeGb !== null) return { kind: 'pod_volume', sizeGb: podVolumeGb, path: podVolumePath }
  return null
}

/**
 * The volume that is such a disk on its engine. Made of the instance's id: whoever finds one knows whose it is, and none
 * is written down before it is made. Twenty characters at most, which is what a block device can be called.
 */
export const ownVolumeId = (instanceId: string): string => `${instanceId}-disk`

/** Whose disk a volume is, by its id; null: none of an instance. */
export const instanceOfOwnVolume = (volumeId: string): string | null =>
  /^(i-[a-z0-9]+)-disk$/.exec(volumeId)?.[1] ?? null

/**
 * The volumes on an engine that are disks of instances, from before they are made until their engine has confirmed that
 * nothing of the instance is left.
 */
export async function ownVolumesOn(q: Queryable, engineId: string): Promise<string[]> {
  const hasDisk = or(isNotNull(instance.dataDiskGb), isNotNull(instance.podVolumeGb))
  const rows = await q
    .select({ id: instance.id })
    .from(instance)
    .where(and(eq(instance.engineId, engineId), isNull(instance.terminatedAt), hasDisk))
  return rows.map(({ id }) => ownVolumeId(id))
}
