import type { DeployBody } from '@berth/contract/instances'
import { type OwnDiskColumns, ownDiskOf } from '../own-disk.ts'
import type { InstanceRow } from '../rows.ts'

/** What the price of an instance depends on. */
export interface Sized {
  regionCode: string
  specId: string
  gpuCount: number
  diskGb: number
  /** What it has beside that; 0 for none. */
  ownDiskGb: number
}

type Asked = Pick<
  DeployBody,
  'region_code' | 'gpu_spec_id' | 'gpu_count' | 'container_disk_gb' | 'data_disk_gb' | 'pod_volume_gb'
>

/** What an instance is priced by that is asked for. */
export function sizedOf(asked: Asked): Sized {
  return {
    regionCode: asked.region_code,
    specId: asked.gpu_spec_id,
    gpuCount: asked.gpu_count,
    diskGb: asked.container_disk_gb,
    ownDiskGb: asked.data_disk_gb ?? asked.pod_volume_gb ?? 0,
  }
}

/** The columns that an instance is priced by. */
export type SizedColumns = OwnDiskColumns &
  Pick<InstanceRow, 'regionCode' | 'gpuSpecId' | 'gpuCount' | 'containerDiskGb'>

/** What an instance is priced by that is there. */
export function sizedAs(row: SizedColumns): Sized {
  const { regionCode, gpuSpecId: specId, gpuCount, containerDiskGb: diskGb } = row
  return { regionCode, specId, gpuCount, diskGb, ownDiskGb: ownDiskOf(row)?.sizeGb ?? 0 }
}
