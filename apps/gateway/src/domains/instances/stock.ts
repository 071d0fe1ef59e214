import { and, eq, isNull, ne } from 'drizzle-orm'
import type { Transaction } from '../../platform/database/database.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import type { Offer, Regions } from '../regions/regions.ts'
import type { InstanceRow } from './rows.ts'
import { instance } from './tables.ts'

/** The columns of a row that say what it was given. */
export type Given = Pick<
  InstanceRow,
  'gpuSpecId' | 'gpuCount' | 'gpuUuids' | 'spec' | 'simulated' | 'holdsGpus'
>

/**
 * Takes GPUs (or a machine of a CPU spec) from a region's stock: the caller writes what is returned to the row in
 * the same transaction, under the stock's lock.
 * @param wanted.instanceId Its own earlier GPUs are free for it.
 * @throws ApiError `gpu_sold_out`, or `validation_failed` for a count that the spec is not rented in.
 */
export async function takeStock(
  tx: Transaction,
  regions: Pick<Regions, 'lockStock' | 'taken'>,
  wanted: { offer: Offer; gpuCount: number; instanceId: string },
): Promise<Given> {
  const { offer, gpuCount, instanceId } = wanted
  const { region, spec } = offer
  if (!spec.counts.includes(gpuCount)) {
    throw new ApiError('validation_failed', { fields: [{ path: 'gpu_count', rule: 'not_allowed' }] })
  }
  await regions.lockStock(tx, region.code, spec.id)
  const taken = await regions.taken(tx, region.code, spec.id)
  if (offer.total - taken < gpuCount) throw new ApiError('gpu_sold_out')
  const units = spec.gpu ? gpuCount : 1
  return {
    gpuSpecId: spec.id,
    gpuCount,
    gpuUuids: offer.gpus.length > 0 ? await freeGpus(tx, offer, gpuCount, instanceId) : [],
    spec: {
      name: spec.name,
      gpu: spec.gpu,
      vram_gb: spec.vram_gb,
      vcpu: spec.vcpu * units,
      memory_gb: spec.memory_gb * units,
    },
    simulated: offer.simulated,
    holdsGpus: true,
  }
}

/** Real GPUs that no other machine can still be using: also not one that failed and was not seen to end. */
async function freeGpus(
  tx: Transaction,
  { gpus }: Offer,
  count: number,
  instanceId: string,
): Promise<string[]> {
  const rows = await tx
    .select({ gpuUuids: instance.gpuUuids })
    .from(instance)
    .where(and(isNull(instance.terminatedAt), ne(instance.id, instanceId), eq(instance.simulated, false)))
  const inUse = new Set(rows.flatMap(({ gpuUuids }) => gpuUuids))
  const free = gpus.map(({ uuid }) => uuid).filter(uuid => !inUse.has(uuid))
  if (free.length < count) throw new ApiError('gpu_sold_out')
  return free.slice(0, count)
}
