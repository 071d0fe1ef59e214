import type { Instance } from '@berth/contract/instances'

/** The disks of an instance, as a price is asked for them. */
export function disksAsked({ disks }: Pick<Instance, 'disks'>) {
  const { container_gb, system_gb, data_gb, pod_volume_gb } = disks
  return {
    // It has one of the two.
    container_disk_gb: container_gb + system_gb,
    ...(data_gb > 0 && { data_disk_gb: data_gb }),
    ...(pod_volume_gb > 0 && { pod_volume_gb }),
  }
}
