import type { GpuSpec, Region } from '@berth/contract/regions'
import { sql } from 'drizzle-orm'
import type { RealGpu } from '../../drivers/compute/port.ts'
import type { Catalogue, CatalogueSpec } from '../../platform/config/catalogue.ts'
import type { Database, Queryable } from '../../platform/database/database.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import { gpuStock } from './tables.ts'

/** A spec in one region, as deploys and prices need it. */
export interface Offer {
  region: Region
  spec: CatalogueSpec
  /** GPUs (machines for a CPU spec) that the region has in all. */
  total: number
  /** Real GPUs behind it; empty means simulated, or none wanted. */
  gpus: RealGpu[]
  simulated: boolean
}

export interface Regions {
  /** Every region of the catalogue, enabled or not. */
  all(): Region[]
  /** Specs with stock and price in the named regions; none named means every enabled one. */
  specs(regionCodes: string[]): Promise<GpuSpec[]>
  /**
   * One spec in one region.
   * @throws ApiError `region_not_supported` (R5.4) or `gpu_spec_unknown`.
   */
  offer(regionCode: string, specId: string): Offer
  /** Units of a spec that are taken in a region, by the instances that hold them. */
  taken(q: Queryable, regionCode: string, specId: string): Promise<number>
  /** Takes the lock of a region's stock of a spec; hold it while stock is counted and taken. */
  lockStock(q: Queryable, regionCode: string, specId: string): Promise<void>
  /** Writes the catalogue's stock into the table whose rows are the locks. Called at start. */
  syncStock(): Promise<void>
}

/**
 * Regions and GPU specs. Where this machine has GPUs they are offered as they are, in the first enabled region,
 * because that is where it stands, and none is simulated; where it has none, the catalogue's are offered,
 * marked as simulated (B1).
 * @param deps `gpus` is what the compute driver found at start.
 */
export function createRegions(deps: { db: Database; catalogue: Catalogue; gpus: RealGpu[] }): Regions {
  const { db, catalogue } = deps
  const offers = makeOffers(catalogue, deps.gpus)

  async function taken(q: Queryable, regionCode: string, specId: string): Promise<number> {
    const { rows } = await q.execute<{ taken: string | null }>(
      sql`select sum(gpu_count) as taken from instance
          where holds_gpus and region_code = ${regionCode} and gpu_spec_id = ${specId}`,
    )
    return Number(rows[0]?.taken ?? 0)
  }

  return {
    all: () => catalogue.regions,
    taken,
    async specs(regionCodes) {
      const wanted = offers.filter(({ region }) =>
        regionCodes.length > 0 ? regionCodes.includes(region.code) : region.enabled,
      )
      const { rows } = await db.execute<{ region_code: string; gpu_spec_id: string; taken: string }>(
        sql`select region_code, gpu_spec_id, sum(gpu_count) as taken from instance where holds_gpus
            group by region_code, gpu_spec_id`,
      )
      const takenBy = new Map(rows.map(row => [`${row.region_code}/${row.gpu_spec_id}`, Number(row.taken)]))
      return wanted.map(offer => toGpuSpec(offer, takenBy.get(`${offer.region.code}/${offer.spec.id}`) ?? 0))
    },
    offer(regionCode, specId) {
      const region = catalogue.regions.find(({ code }) => code === regionCode)
      if (!region?.enabled) {
        throw new ApiError('region_not_supported', {
          fields: [{ path: 'region_code', rule: 'not_allowed' }],
        })
      }
      const offer = offers.find(({ region, spec }) => region.code === regionCode && spec.id === specId)
      if (!offer) {
        throw new ApiError('gpu_spec_unknown', { fields: [{ path: 'gpu_spec_id', rule: 'not_allowed' }] })
      }
      return offer
    },
    async lockStock(q, regionCode, specId) {
      await q.execute(
        sql`select total from gpu_stock where region_code = ${regionCode} and gpu_spec_id = ${specId} for update`,
      )
    },
    async syncStock() {
      const rows = offers.map(({ region, spec, total }) => ({
        regionCode: region.code,
        gpuSpecId: spec.id,
        total,
      }))
      if (rows.length === 0) return
      await db
        .insert(gpuStock)
        .values(rows)
        .onConflictDoUpdate({
          target: [gpuStock.regionCode, gpuStock.gpuSpecId],
          set: { total: sql`excluded.total` },
        })
    },
  }
}

function makeOffers(catalogue: Catalogue, gpus: RealGpu[]): Offer[] {
  const cpuOnly = catalogue.gpu_specs.filter(({ gpu }) => !gpu)
  if (gpus.length === 0) return fromCatalogue(catalogue, catalogue.gpu_specs)
  const home = catalogue.regions.find(({ enabled }) => enabled)
  const offers = fromCatalogue(catalogue, cpuOnly)
  if (!home) return offers
  // Two names of the vendor's may be one spec, and a spec is offered once.
  for (const same of Map.groupBy(gpus, gpu => specOf(catalogue, gpu).id).values()) {
    const smallest = same.reduce((one, other) => (other.memory_mb < one.memory_mb ? other : one))
    const counts = [1, 2, 4, 8].filter(count => count <= same.length)
    const spec = { ...specOf(catalogue, smallest), counts }
    offers.push({ region: home, spec, total: same.length, gpus: same, simulated: false })
  }
  return offers
}

function fromCatalogue(catalogue: Catalogue, specs: CatalogueSpec[]): Offer[] {
  return catalogue.regions.flatMap(region =>
    specs.flatMap((spec): Offer[] => {
      const total = spec.stock[region.code]
      return total === undefined ? [] : [{ region, spec, total, gpus: [], simulated: spec.gpu }]
    }),
  )
}

/** The catalogue's spec for a real GPU; one that it does not list is offered as the machine shows it. */
function specOf(catalogue: Catalogue, gpu: RealGpu): CatalogueSpec {
  const name = gpu.name.replace(/^NVIDIA (GeForce )?/, '')
  const id = name.toLowerCase().replace(/[^a-z0-9]+/g, '-')
  const specs = catalogue.gpu_specs.filter(spec => spec.gpu)
  const listed =
    specs.find(spec => spec.vendor_names.includes(gpu.name)) ?? specs.find(spec => spec.id === id)
  if (listed) return listed
  return {
    id,
    name,
    vendor_names: [gpu.name],
    gpu: true,
    vram_gb: Math.round(gpu.memory_mb / 1_024),
    vcpu: 4,
    memory_gb: 16,
    counts: [1],
    stock: {},
    price_micro_per_hour: catalogue.prices.unlisted_gpu_micro_per_hour,
  }
}

function toGpuSpec(offer: Offer, taken: number): GpuSpec {
  const { spec, region } = offer
  return {
    id: spec.id,
    region_code: region.code,
    name: spec.name,
    gpu: spec.gpu,
    vram_gb: spec.vram_gb,
    vcpu: spec.vcpu,
    memory_gb: spec.memory_gb,
    price_micro_per_hour: spec.price_micro_per_hour.toString(),
    available: Math.max(0, offer.total - taken),
    total: offer.total,
    counts: spec.counts,
    simulated: offer.simulated,
  }
}
