import { formatExact } from '@berth/contract/money'
import type { Catalogue } from './catalogue.ts'

/** One thing that another catalogue says otherwise. */
export interface CatalogueChange {
  kind: 'added' | 'removed' | 'changed'
  /** Such as `region`. */
  what: string
  /** Which one. */
  id: string
  /** What of it, in words; empty where it is added or removed. */
  detail: string
}

/** Lists of a catalogue, each with what names one of its entries. */
const LISTS = [
  ['region', 'regions', 'code'],
  ['GPU', 'gpu_specs', 'id'],
  ['image', 'images', 'id'],
  ['model', 'models', 'id'],
  ['registry', 'registries', 'host'],
] as const

/** What differs between two catalogues, in words: what is there no more, what is new, what is otherwise, and prices as money. */
export function diffCatalogues(before: Catalogue, after: Catalogue): CatalogueChange[] {
  const changes = LISTS.flatMap(([what, list, key]) =>
    diffLists(what, byKey(before[list] as object[], key), byKey(after[list] as object[], key)),
  )
  const one = (what: string, from: unknown, to: unknown) =>
    diffLists(what, new Map([['', from]]), new Map([['', to]]))
  return [
    ...one('prices', before.prices, after.prices),
    ...one('credits for outages', before.sla ?? null, after.sla ?? null),
    ...one('check-in', before.check_in ?? null, after.check_in ?? null),
    ...one('referral', before.referral, after.referral),
    ...one('brands', before.brands, after.brands),
    ...changes,
    ...one('models that are found', before.found_models ?? null, after.found_models ?? null),
    ...one('words', wordsOf(before, after), wordsOf(after, before)),
  ]
}

/** What is said in each language of what both say: words of something that is new come with it. */
function wordsOf({ words }: Catalogue, other: Catalogue): object {
  return Object.fromEntries(
    Object.entries(words).map(([language, said]) => [
      language,
      Object.fromEntries([...said].filter(([key]) => other.words[language as keyof typeof words]?.has(key))),
    ]),
  )
}

function byKey(list: readonly object[], key: string): Map<string, unknown> {
  return new Map(list.map(entry => [String((entry as Record<string, unknown>)[key]), entry]))
}

function diffLists(
  what: string,
  before: ReadonlyMap<string, unknown>,
  after: ReadonlyMap<string, unknown>,
): CatalogueChange[] {
  const ids = [...new Set([...before.keys(), ...after.keys()])]
  return ids.flatMap((id): CatalogueChange[] => {
    if (!after.has(id)) return [{ kind: 'removed', what, id, detail: '' }]
    if (!before.has(id)) return [{ kind: 'added', what, id, detail: '' }]
    return changesIn(before.get(id), after.get(id)).map(detail => ({ kind: 'changed', what, id, detail }))
  })
}

/** What of a value is otherwise, each field in words of its own: `price_per_hour: $1.20 → $1.10`. */
function changesIn(before: unknown, after: unknown, path = ''): string[] {
  if (wholeOf(before) === wholeOf(after)) return []
  if (isFields(before) && isFields(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
    return names.flatMap(name => changesIn(before[name], after[name], path === '' ? name : `${path}.${name}`))
  }
  const said = `${textOf(before, path)} → ${textOf(after, path)}`
  // The price is said as money, not in micro-units.
  return [path === '' ? said : `${path.replaceAll(/_micro|Micro/g, '')}: ${said}`]
}

const isFields = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)

/** A text that is the same for the same values alone. */
const wholeOf = (value: unknown) =>
  JSON.stringify(value, (_, inner) => (typeof inner === 'bigint' ? `${inner}n` : inner)) ?? ''

/** What is longer is no help on a line. */
const SHOWN_CHARS_MAX = 120

function textOf(value: unknown, path: string): string {
  if (value === undefined || value === null) return 'nothing'
  // Prices are in the currency of whoever pays them; a catalogue says them once.
  if (typeof value === 'bigint') return formatExact(value, 'USD')
  if (typeof value === 'string' && /_micro/.test(path) && /^\d+$/.test(value))
    return formatExact(BigInt(value), 'USD')
  const text = JSON.stringify(value, (_, inner) =>
    typeof inner === 'bigint' ? formatExact(inner, 'USD') : inner,
  )
  return text.length > SHOWN_CHARS_MAX ? `${text.slice(0, SHOWN_CHARS_MAX)}…` : text
}
