import { CHAT_KINDS, type Model } from '@berth/contract/models'
import { abilitiesOf } from '../../models/model-abilities.ts'
import { microFromText } from '../../ui/micro-text.ts'
import type { CatalogueSearch, ModelSort } from './search.ts'

/** What models are narrowed by, choice by choice. */
export const FACETS = ['kind', 'vendor', 'can'] as const
export type Facet = (typeof FACETS)[number]

/** A choice of a facet, and how many models it would show. */
export interface Choice {
  /** As the address holds it. */
  value: string
  count: number
  chosen: boolean
}

/** What an address and a search field narrow the models to. */
type Narrowed = Omit<CatalogueSearch, 'q'>

/** The models that are found, in order, and what they could be narrowed by. */
export interface Found {
  rows: Model[]
  choices: Record<Facet, Choice[]>
}

/**
 * Narrows and orders the models. A choice counts the models that it would show beside what is chosen elsewhere.
 * @param models All of them, in the order of the catalogue.
 * @param typed What is searched for: every word of it stands in the name, the id, the vendor or the description.
 */
export function foundModels(models: readonly Model[], typed: string, narrowed: Narrowed): Found {
  const words = plain(typed).split(/\s+/).filter(Boolean)
  const priceMax = narrowed.price === '' ? null : microFromText(narrowed.price)
  const isFound = (model: Model, leftOut: Facet | null) =>
    words.every(word => textOf(model).includes(word)) &&
    (priceMax === null || !hasTokenPrice(model) || BigInt(model.output_micro_per_million) <= priceMax) &&
    FACETS.every(facet => facet === leftOut || isChosen(model, facet, narrowed[facet]))
  const choicesOf = (facet: Facet): Choice[] => {
    const counts = new Map<string, number>()
    // What there is stays in sight, though it would show nothing now.
    for (const value of models.flatMap(model => valuesOf[facet](model))) counts.set(value, 0)
    for (const model of models.filter(one => isFound(one, facet)))
      for (const value of valuesOf[facet](model)) counts.set(value, (counts.get(value) ?? 0) + 1)
    const chosen = parts(narrowed[facet])
    return [...counts].map(([value, count]) => ({ value, count, chosen: chosen.includes(value) }))
  }
  return {
    rows: models.filter(model => isFound(model, null)).toSorted(ORDERS[narrowed.sort]),
    choices: {
      kind: choicesOf('kind'),
      vendor: choicesOf('vendor').toSorted((one, other) => other.count - one.count),
      can: choicesOf('can'),
    },
  }
}

/** The choices of a facet in an address. */
export function parts(text: string): string[] {
  return text.split(',').filter(Boolean)
}

/** A facet with a choice taken or given up, for the address. */
export function toggled(text: string, value: string): string {
  const before = parts(text)
  return (before.includes(value) ? before.filter(one => one !== value) : [...before, value]).join(',')
}

/** A vendor as addresses name it. */
export function slugOf(vendor: string): string {
  return plain(vendor).replace(/[^\p{L}\p{N}]+/gu, '-')
}

/** What a million tokens of answers cost, of those models whose tokens have a price: each once, in order. */
export function outputPrices(models: readonly Model[]): bigint[] {
  const all = models.filter(hasTokenPrice).map(model => BigInt(model.output_micro_per_million))
  return [...new Set(all)].sort((one, other) => Number(one - other))
}

function hasTokenPrice({ kind }: Model): boolean {
  return CHAT_KINDS.includes(kind)
}

const valuesOf: Record<Facet, (model: Model) => readonly string[]> = {
  kind: ({ kind }) => [kind],
  vendor: ({ vendor }) => [slugOf(vendor)],
  can: abilitiesOf,
}

function isChosen(model: Model, facet: Facet, text: string): boolean {
  const chosen = parts(text)
  const values = valuesOf[facet](model)
  // A model is of one kind and one vendor, and must be able to do all that is asked for.
  if (facet === 'can') return chosen.every(value => values.includes(value))
  return chosen.length === 0 || chosen.some(value => values.includes(value))
}

function textOf({ id, name, vendor, description }: Model): string {
  return plain([id, name, vendor, description].join(' '))
}

const byName = (one: Model, other: Model) => one.name.localeCompare(other.name)
/** Those that have none of it come last. */
const upward = (of: (model: Model) => bigint) => (one: Model, other: Model) => {
  const [a, b] = [of(one), of(other)]
  if (a === 0n || b === 0n) return a === b ? byName(one, other) : a === 0n ? 1 : -1
  return Number(a - b) || byName(one, other)
}
const ORDERS: Record<ModelSort, (one: Model, other: Model) => number> = {
  catalogue: () => 0,
  price: upward(model => BigInt(model.output_micro_per_million)),
  context: (one, other) => other.context_tokens - one.context_tokens || byName(one, other),
  name: byName,
}

function plain(text: string): string {
  return text.normalize('NFKC').toLowerCase().trim()
}
