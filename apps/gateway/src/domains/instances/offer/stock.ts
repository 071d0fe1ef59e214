import type { Transaction } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Offer, Stock } from '../../regions/regions.ts'
import type { InstanceRow } from '../rows.ts'

/** The columns of a row that say what it was given. */
export type Given = Pick<
  InstanceRow,
  'gpuSpecId' | 'gpuCount' | 'gpuUuids' | 'spec' | 'simulated' | 'engineId'
>

/**
 * Takes GPUs (or a machine of a CPU spec) from a region's stock: the caller writes what is returned to the row in
 * the same transaction.
 * @param wanted.instanceId Its own earlier GPUs are free for it.
 * @param wanted.engineIds Engines that may make its machine; at least one.
 * @throws ApiError `gpu_sold_out`, or `validation_failed` for a count that the spec is not rented in.
 */
export async function takeStock(
  tx: Transaction,
  stock: Pick<Stock, 'take'>,
  wanted: { offer: Offer; gpuCount: number; instanceId: string; engineIds: string[] },
): Promise<Given> {
  const { offer, gpuCount, instanceId, engineIds } = wanted
  const { region, spec } = offer
  if (!spec.counts.includes(gpuCount)) {
    throw new ApiError('validation_failed', { fields: [{ path: 'gpu_count', rule: 'not_allowed' }] })
  }
  const claim = { subjectId: instanceId, regionCode: region.code, specId: spec.id, count: gpuCount }
  const places = engineIds.map(engineId => ({
    engineId,
    gpuUuids: offer.gpus.filter(gpu => gpu.engineId === engineId).map(({ uuid }) => uuid),
  }))
  if (spec.gpu && !offer.simulated && places.every(({ gpuUuids }) => gpuUuids.length === 0)) {
    throw new ApiError('gpu_sold_out')
  }
  const { engineId, gpuUuids } = await stock.take(tx, claim, places)
  const units = spec.gpu ? gpuCount : 1
  return {
    gpuSpecId: spec.id,
    gpuCount,
    gpuUuids,
    engineId,
    spec: {
      name: spec.name,
      gpu: spec.gpu,
      vram_gb: spec.vram_gb,
      vcpu: spec.vcpu * units,
      memory_gb: spec.memory_gb * units,
    },
    simulated: offer.simulated,
  }
}
