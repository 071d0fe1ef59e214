import type { GpuSpec } from '@berth/contract/regions'

/** Orders of the cards. */
export const SORTS = ['price', 'memory', 'stock'] as const
export type Sort = (typeof SORTS)[number]

/** A spec over the regions in view, as one card shows it. */
export interface SpecOffer {
  id: string
  name: string
  gpu: boolean
  simulated: boolean
  vramGb: number
  vcpu: number
  memoryGb: number
  /** The lowest of its regions. */
  priceMicroPerHour: bigint
  counts: number[]
  available: number
  total: number
  /** Its regions, the one with the most to give first. */
  places: GpuSpec[]
}

/**
 * Joins the specs of several regions into one card each.
 * @param specs One entry for each spec and region.
 * @param region One region's code, or empty for all.
 * @param sort What comes first; ties go by price, then by name.
 */
export function offersOf(specs: readonly GpuSpec[], region: string, sort: Sort): SpecOffer[] {
  const seen = specs.filter(spec => region === '' || spec.region_code === region)
  const offers: SpecOffer[] = []
  for (const [id, places] of groupById(seen)) {
    const [first] = places
    if (!first) continue
    const prices = places.map(place => BigInt(place.price_micro_per_hour))
    offers.push({
      id,
      name: first.name,
      gpu: first.gpu,
      simulated: places.every(place => place.simulated),
      vramGb: first.vram_gb,
      vcpu: first.vcpu,
      memoryGb: first.memory_gb,
      priceMicroPerHour: prices.reduce((least, price) => (price < least ? price : least)),
      counts: first.counts,
      available: places.reduce((sum, place) => sum + place.available, 0),
      total: places.reduce((sum, place) => sum + place.total, 0),
      places: places.toSorted((a, b) => b.available - a.available),
    })
  }
  const byPrice = (a: SpecOffer, b: SpecOffer) =>
    Number(a.priceMicroPerHour - b.priceMicroPerHour) || a.name.localeCompare(b.name)
  const orders: Record<Sort, (a: SpecOffer, b: SpecOffer) => number> = {
    price: byPrice,
    memory: (a, b) => b.vramGb - a.vramGb || byPrice(a, b),
    stock: (a, b) => b.available - a.available || byPrice(a, b),
  }
  return offers.sort(orders[sort])
}

function groupById(specs: readonly GpuSpec[]): Map<string, GpuSpec[]> {
  const groups = new Map<string, GpuSpec[]>()
  for (const spec of specs) groups.set(spec.id, [...(groups.get(spec.id) ?? []), spec])
  return groups
}

/** At this many or fewer left, the card says how many. */
const LOW_STOCK = 2

/**
 * How a card words its stock.
 * @param offer Its stock.
 * @returns `low` from two left down.
 */
export function stockLevel(offer: Pick<SpecOffer, 'available'>): 'available' | 'low' | 'sold_out' {
  if (offer.available <= 0) return 'sold_out'
  return offer.available <= LOW_STOCK ? 'low' : 'available'
}
