import { expect, test } from 'vitest'
import { shippedCatalogue } from '../../../test/shipped-catalogue.ts'
import { diffCatalogues } from './catalogue-diff.ts'

test('[R6.5] a catalogue differs from itself in nothing', () => {
  expect(diffCatalogues(shippedCatalogue(), shippedCatalogue())).toEqual([])
})

test('[R6.5] each part of a catalogue is compared', () => {
  const before = shippedCatalogue()
  // Its text says the same as all the others.
  const { source: _, ...parts } = before
  for (const name of Object.keys(parts) as (keyof typeof parts)[]) {
    const after = { ...before, [name]: otherOf(before[name]) }
    expect(diffCatalogues(before, after), name).not.toEqual([])
  }
})

/** Something else of the same shape: lists with an entry more or without any, numbers, prices and words that differ. */
function otherOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.length > 0 ? [] : [{ id: 'other', host: 'other' }]
  if (value instanceof Map) return new Map([...value].map(([key, inner]) => [key, otherOf(inner)]))
  if (typeof value === 'bigint') return value + 1n
  if (typeof value === 'number') return value + 1
  if (typeof value === 'string') return `${value}, otherwise`
  return Object.fromEntries(
    Object.entries(value ?? { other: 1 }).map(([key, inner]) => [key, otherOf(inner)]),
  )
}

test('[R6.5] terms are said as money, and words by the language that says them otherwise', () => {
  const before = shippedCatalogue()
  const [english = ''] = before.words.zh.keys()
  const after = {
    ...before,
    referral: { ...before.referral, rewardMicro: 6_000_000n },
    words: { ...before.words, zh: new Map([...before.words.zh, [english, '别的'], ['New', '新']]) },
  }
  expect(diffCatalogues(before, after)).toMatchObject([
    { what: 'referral', detail: 'reward: $5.00 → $6.00' },
    { what: 'words', detail: expect.stringMatching(/^zh\..+ → "别的"$/) },
  ])
})

test('[R6.5] what is new, gone and otherwise is said by its name, and prices as money', () => {
  const before = shippedCatalogue()
  const [region, ...others] = before.regions
  const [spec, ...specs] = before.gpu_specs
  const [image] = before.images
  if (!region || !spec || !image) throw new Error('the shipped catalogue is empty')
  const after = {
    ...before,
    prices: { ...before.prices, volume_micro_per_gb_day: before.prices.volume_micro_per_gb_day + 1_000_000n },
    regions: [...others, { ...region, code: 'moon-1' }],
    gpu_specs: [
      { ...spec, price_micro_per_hour: 1_230_000n, stock: { ...spec.stock, 'moon-1': 3 } },
      ...specs,
    ],
    images: before.images.map(one => (one === image ? { ...one, tags: ['other'] } : one)),
  }
  const changes = diffCatalogues(
    { ...before, gpu_specs: [{ ...spec, price_micro_per_hour: 2_000_000n }, ...specs] },
    after,
  )
  const about = (what: string) => changes.filter(change => change.what === what)
  expect(about('region')).toEqual([
    { kind: 'removed', what: 'region', id: region.code, detail: '' },
    { kind: 'added', what: 'region', id: 'moon-1', detail: '' },
  ])
  expect(about('GPU').map(({ detail }) => detail)).toEqual(
    expect.arrayContaining(['price_per_hour: $2.00 → $1.23', 'stock.moon-1: nothing → 3']),
  )
  expect(about('image')).toMatchObject([{ kind: 'changed', id: image.id }])
  expect(about('prices')[0]?.detail).toMatch(/^volume_per_gb_day: \$0\.\d+ → \$1\.\d+$/)
})
