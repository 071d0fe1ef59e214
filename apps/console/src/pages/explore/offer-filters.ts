import type { Image } from '@berth/contract/images'
import type { GpuSpec, Region } from '@berth/contract/regions'
import { offersOf, type SpecOffer } from '../../offers/offers.ts'
import { microFromText } from '../../ui/micro-text.ts'
import { EXPLORE_FIELDS, type ExploreSearch } from './search.ts'

/** What narrows the offers; the order and the choice do not. */
export const FILTER_NAMES = ['region', 'model', 'vram', 'price', 'available', 'kind'] as const
export type FilterName = (typeof FILTER_NAMES)[number]

/** Nothing is narrowed. */
export const NO_FILTERS: Pick<ExploreSearch, FilterName> = {
  region: '',
  model: '',
  vram: '',
  price: '',
  available: '',
  kind: '',
}

/**
 * The offers that a page shows.
 * @param specs One entry for each spec and region.
 * @param filters As the address holds them.
 */
export function findOffers(specs: readonly GpuSpec[], filters: ExploreSearch): SpecOffer[] {
  const { region, model, vram, price, available, kind, sort } = filters
  const ofKind = specs.filter(spec => kind === '' || spec.kinds.includes(kind))
  const priceMax = price === '' ? null : microFromText(price)
  return offersOf(ofKind, region, sort).filter(
    offer =>
      (model === '' || offer.id === model) &&
      (vram === '' || offer.vramGb >= Number(vram)) &&
      (priceMax === null || offer.priceMicroPerHour <= priceMax) &&
      (available === '' || offer.available > 0),
  )
}

/** Something in the address that means nothing here. */
export interface NotUnderstood {
  name: keyof typeof EXPLORE_FIELDS
  /** As it stands there. */
  text: string
}

/** Longer nonsense is cut where it is said. */
const SAID_CHARS_MAX = 40

/**
 * What of an address is left out: what no filter can be, and regions, models and images that are not offered.
 * @param raw Names and texts of the address.
 * @param known What there is.
 */
export function notUnderstood(
  raw: Readonly<Record<string, unknown>>,
  known: { regions: readonly Region[]; specs: readonly GpuSpec[]; images: readonly Pick<Image, 'id'>[] },
): NotUnderstood[] {
  const isSpec = (text: string) => known.specs.some(({ id }) => id === text)
  const isKnown: Partial<Record<NotUnderstood['name'], (text: string) => boolean>> = {
    region: text => known.regions.some(({ code, enabled }) => code === text && enabled),
    model: isSpec,
    spec: isSpec,
    image_id: text => known.images.some(({ id }) => id === text),
  }
  const names = Object.keys(EXPLORE_FIELDS) as NotUnderstood['name'][]
  return names.flatMap(name => {
    const text = raw[name]
    if (typeof text !== 'string' || text === '') return []
    if (EXPLORE_FIELDS[name].safeParse(text).success && (isKnown[name]?.(text) ?? true)) return []
    return [{ name, text: text.length > SAID_CHARS_MAX ? `${text.slice(0, SAID_CHARS_MAX)}…` : text }]
  })
}

/**
 * The address without what it does not mean.
 * @param filters As the schema read them.
 * @param strange What `notUnderstood` found.
 */
export function without(filters: ExploreSearch, strange: readonly NotUnderstood[]): ExploreSearch {
  const none = { ...NO_FILTERS, spec: '', image_id: '', sort: filters.sort }
  return { ...filters, ...Object.fromEntries(strange.map(({ name }) => [name, none[name]])) }
}
