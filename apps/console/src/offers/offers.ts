import type { GpuSpec } from '@berth/contract/regions'

/** Orders of the offers. */
export const SORTS = ['price', 'price_down', 'memory', 'stock', 'name'] as const
export type Sort = (typeof SORTS)[number]

/** How stock is worded; `unknown` while nobody reaches what would make the machine. */
export type StockLevel = 'available' | 'low' | 'sold_out' | 'unknown'

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
  /** Paid in advance, likewise. */
  priceMicroPerWeek: bigint
  priceMicroPerMonth: bigint
  counts: number[]
  /** What can be had now, over the regions where that is known. */
  available: number
  total: number
  level: StockLevel
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
    const known = places.filter(place => place.stock_known)
    const available = known.reduce((sum, place) => sum + place.available, 0)
    // Where one region cannot be asked, that the others have none does not mean that there is none.
    const stockKnown = known.length > 0 && (available > 0 || known.length === places.length)
    offers.push({
      id,
      name: first.name,
      gpu: first.gpu,
      simulated: places.every(place => place.simulated),
      vramGb: first.vram_gb,
      vcpu: first.vcpu,
      memoryGb: first.memory_gb,
      priceMicroPerHour: leastOf(places.map(place => place.price_micro_per_hour)),
      priceMicroPerWeek: leastOf(places.map(place => place.price_micro_per_week)),
      priceMicroPerMonth: leastOf(places.map(place => place.price_micro_per_month)),
      counts: first.counts,
      available,
      total: places.reduce((sum, place) => sum + place.total, 0),
      level: stockLevel({ available, stock_known: stockKnown }),
      places: places.toSorted((a, b) => reachable(b) - reachable(a)),
    })
  }
  return offers.sort(ORDERS[sort])
}

function groupById(specs: readonly GpuSpec[]): Map<string, GpuSpec[]> {
  const groups = new Map<string, GpuSpec[]>()
  for (const spec of specs) groups.set(spec.id, [...(groups.get(spec.id) ?? []), spec])
  return groups
}

/** @param micros Micro-units as texts; at least one. */
const leastOf = (micros: readonly string[]) =>
  micros.map(BigInt).reduce((least, price) => (price < least ? price : least))
const reachable = (place: GpuSpec) => (place.stock_known ? place.available : 0)
const byName = (a: SpecOffer, b: SpecOffer) => a.name.localeCompare(b.name)
const byPrice = (a: SpecOffer, b: SpecOffer) =>
  Number(a.priceMicroPerHour - b.priceMicroPerHour) || byName(a, b)
const ORDERS: Record<Sort, (a: SpecOffer, b: SpecOffer) => number> = {
  price: byPrice,
  price_down: (a, b) => Number(b.priceMicroPerHour - a.priceMicroPerHour) || byName(a, b),
  memory: (a, b) => b.vramGb - a.vramGb || byPrice(a, b),
  stock: (a, b) => b.available - a.available || byPrice(a, b),
  name: byName,
}

/** At this many or fewer left, the card says how many. */
const LOW_STOCK = 2

/**
 * How stock is worded.
 * @param place What a region, or several, have of a spec.
 * @returns `low` from two left down.
 */
export function stockLevel(place: Pick<GpuSpec, 'available' | 'stock_known'>): StockLevel {
  if (!place.stock_known) return 'unknown'
  if (place.available <= 0) return 'sold_out'
  return place.available <= LOW_STOCK ? 'low' : 'available'
}
