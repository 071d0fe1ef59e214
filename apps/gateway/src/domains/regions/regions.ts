import { type GpuSpec, gpuSpec, type Region, region as regionEntity } from '@berth/contract/regions'
import type { RealGpu } from '../../drivers/compute/port/engine.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Catalogue, CatalogueSpec } from '../../platform/config/catalogue.ts'
import { type TermDiscounts, termPriceMicro } from '../../platform/config/term-prices.ts'
import type { Database } from '../../platform/database/database.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import { wireOf } from '../../platform/http/wire.ts'
import type { Fleet, KnownEngine } from '../fleet/fleet.ts'
import { createStock, type Level } from './stock.ts'

const regionOf = wireOf(regionEntity)
const gpuSpecOf = wireOf(gpuSpec)

type CatalogueRegion = Catalogue['regions'][number]

/** A real GPU and the engine that has it; one that rests is given to nobody. */
interface PlacedGpu extends RealGpu {
  engineId: string
  rests: boolean
}

/** A spec in one region, as deploys and prices need it. */
export interface Offer {
  region: CatalogueRegion
  spec: CatalogueSpec
  /** GPUs (machines for a CPU spec) in all, as they are written into the stock. */
  total: number
  /** Real GPUs behind it; empty means simulated, or none wanted. */
  gpus: PlacedGpu[]
  simulated: boolean
}

export { type Claim, STOCK_CHANNEL, type Stock } from './stock.ts'
export type Regions = ReturnType<typeof createRegions>

/**
 * Regions and GPU specs. An engine's real GPUs are offered as they are, in the first of its regions that is open,
 * since they can be given only once; in none of its regions are any simulated. Regions whose engines have no GPUs offer
 * the catalogue's, marked as simulated (B1).
 * @param deps `fleet` is asked for the engines each time, since they come and go. `isDraining`: an operator keeps new
 *   things away from a region for now.
 */
export function createRegions(deps: {
  db: Database
  clock: Clock
  catalogue: Pick<Catalogue, 'regions' | 'gpu_specs' | 'prices'>
  fleet: Pick<Fleet, 'engines' | 'isReached'>
  isDraining(regionCode: string): boolean
}) {
  const { catalogue, fleet, isDraining } = deps
  const offersNow = () => makeOffers(catalogue, fleet.engines())
  const stock = createStock(deps)

  /** Every region of the catalogue, enabled or not. */
  function all(): Region[] {
    return catalogue.regions.map(region =>
      regionOf({
        ...region,
        draining: isDraining(region.code),
        trafficMicroPerGb: region.traffic_micro_per_gb,
      }),
    )
  }

  /** Specs with stock and price in the named regions; none named means every enabled one. */
  async function specs(regionCodes: string[]): Promise<GpuSpec[]> {
    const wanted = offersNow().filter(({ region }) =>
      regionCodes.length > 0 ? regionCodes.includes(region.code) : region.enabled,
    )
    const levels = new Map(
      (await stock.levels()).map(level => [`${level.regionCode}/${level.specId}`, level]),
    )
    const { term_discount_percent } = catalogue.prices
    return wanted.map(offer => {
      const level = levels.get(`${offer.region.code}/${offer.spec.id}`)
      return toGpuSpec(offer, { ...level, ...makersOf(offer) }, term_discount_percent)
    })
  }

  /** What the engines of an offer can make, and whether any of them is there. */
  function makersOf({ region, gpus }: Offer) {
    const engines = fleet
      .engines()
      .filter(({ id, facts }) =>
        gpus.length > 0 ? gpus.some(gpu => gpu.engineId === id) : facts?.region_codes.includes(region.code),
      )
    const kinds = new Set(engines.flatMap(({ facts }) => facts?.kinds ?? []))
    return { kinds: [...kinds].sort(), stockKnown: engines.some(({ id }) => fleet.isReached(id)) }
  }

  /**
   * That something new may be placed in a region.
   * @throws ApiError `region_not_supported` (R5.4), or `region_draining` where an operator keeps new things away for now.
   */
  function requireOpen(regionCode: string): CatalogueRegion {
    const region = catalogue.regions.find(({ code }) => code === regionCode)
    if (region?.enabled) return region
    throw new ApiError(region && isDraining(regionCode) ? 'region_draining' : 'region_not_supported', {
      fields: [{ path: 'region_code', rule: 'not_allowed' }],
    })
  }

  /**
   * One spec in one region.
   * @throws ApiError `region_not_supported` (R5.4), `region_draining` or `gpu_spec_unknown`.
   */
  function offer(regionCode: string, specId: string): Offer {
    const { code } = requireOpen(regionCode)
    const offer = offersNow().find(({ region, spec }) => region.code === code && spec.id === specId)
    if (!offer) {
      throw new ApiError('gpu_spec_unknown', { fields: [{ path: 'gpu_spec_id', rule: 'not_allowed' }] })
    }
    return offer
  }

  /** Writes down how much of everything there is. Called at start, and when engines came or changed. */
  async function seedStock(): Promise<void> {
    await stock.seed(
      offersNow().map(({ region, spec, total }) => ({ regionCode: region.code, specId: spec.id, total })),
    )
  }

  return { all, specs, requireOpen, offer, seedStock, stock }
}

type Offered = Pick<Catalogue, 'regions' | 'gpu_specs' | 'prices'>

function makeOffers(catalogue: Offered, engines: KnownEngine[]): Offer[] {
  const withGpus = engines.filter(({ facts }) => facts && gpusOf(facts).length > 0)
  return catalogue.regions.flatMap(region => {
    const isReal = withGpus.some(({ facts }) => facts?.region_codes.includes(region.code))
    const listed = fromCatalogue(
      region,
      catalogue.gpu_specs.filter(({ gpu }) => !gpu || !isReal),
    )
    const gpus = withGpus.flatMap(({ id, facts }) =>
      homeOf(catalogue, facts?.region_codes ?? []) === region.code
        ? (facts ? gpusOf(facts) : []).map(gpu => ({ ...gpu, engineId: id }))
        : [],
    )
    return [...listed, ...realOffers(catalogue, region, gpus)]
  })
}

/** All GPUs of an engine: also while none of them is to be had, none is simulated. */
function gpusOf({ size }: NonNullable<KnownEngine['facts']>): Omit<PlacedGpu, 'engineId'>[] {
  const resting = size.gpus_resting ?? []
  return [
    ...size.gpus.map(gpu => ({ ...gpu, rests: false })),
    ...resting.map(gpu => ({ ...gpu, rests: true })),
  ]
}

/** Where an engine of several regions offers what it has only once. */
function homeOf(catalogue: Offered, regionCodes: string[]): string | undefined {
  return catalogue.regions.find(({ code, enabled }) => enabled && regionCodes.includes(code))?.code
}

function realOffers(catalogue: Offered, region: CatalogueRegion, gpus: PlacedGpu[]): Offer[] {
  // Two names of the vendor's may be one spec, and a spec is offered once.
  return [...Map.groupBy(gpus, gpu => specOf(catalogue, gpu).id).values()].map(same => {
    const smallest = same.reduce((one, other) => (other.memory_mb < one.memory_mb ? other : one))
    // No machine has GPUs of two engines; two engines on one computer may both show one GPU.
    const most = Math.max(...[...Map.groupBy(same, gpu => gpu.engineId).values()].map(own => own.length))
    const gpus = same.filter(({ rests }) => !rests)
    const total = new Set(gpus.map(({ uuid }) => uuid)).size
    const counts = [1, 2, 4, 8].filter(count => count <= most)
    return { region, spec: { ...specOf(catalogue, smallest), counts }, total, gpus, simulated: false }
  })
}

function fromCatalogue(region: CatalogueRegion, specs: CatalogueSpec[]): Offer[] {
  return specs.flatMap((spec): Offer[] => {
    const total = spec.stock[region.code]
    return total === undefined ? [] : [{ region, spec, total, gpus: [], simulated: spec.gpu }]
  })
}

/** Labels of nodes have dashes for the spaces of a vendor's name, and no sign of which were dashes before. */
const isSameName = (one: string, other: string) => one.replaceAll('-', ' ') === other.replaceAll('-', ' ')

/** The catalogue's spec for a real GPU; one that it does not list is offered as the machine shows it. */
function specOf(catalogue: Offered, gpu: RealGpu): CatalogueSpec {
  const name = gpu.name.replace(/^NVIDIA (GeForce )?/, '')
  const id = name.toLowerCase().replace(/[^a-z0-9]+/g, '-')
  const specs = catalogue.gpu_specs.filter(spec => spec.gpu)
  const listed =
    specs.find(spec => spec.vendor_names.some(name => isSameName(name, gpu.name))) ??
    specs.find(spec => spec.id === id)
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
    term_prices_micro: {},
  }
}

type State = Partial<Level> & { kinds: GpuSpec['kinds']; stockKnown: boolean }

function toGpuSpec(offer: Offer, state: State, discounts: TermDiscounts): GpuSpec {
  const { spec, region, simulated } = offer
  return gpuSpecOf({
    ...spec,
    regionCode: region.code,
    vramGb: spec.vram_gb,
    memoryGb: spec.memory_gb,
    priceMicroPerHour: spec.price_micro_per_hour,
    priceMicroPerWeek: termPriceMicro(spec, discounts, 'weekly'),
    priceMicroPerMonth: termPriceMicro(spec, discounts, 'monthly'),
    available: state.available ?? 0,
    total: state.total ?? 0,
    kinds: state.kinds,
    stockKnown: state.stockKnown,
    simulated,
  })
}
