import { expect, test } from 'vitest'
import { shippedCatalogue } from '../../../test/shipped-catalogue.ts'
import { diffCatalogues } from './catalogue-diff.ts'

test('[R6.5] a catalogue differs from itself in nothing', () => {
  expect(diffCatalogues(shippedCatalogue(), shippedCatalogue())).toEqual([])
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
    expect.arrayContaining(['price_micro_per_hour: $2.00 → $1.23', 'stock.moon-1: nothing → 3']),
  )
  expect(about('image')).toMatchObject([{ kind: 'changed', id: image.id }])
  expect(about('prices')[0]?.detail).toMatch(/^volume_micro_per_gb_day: \$0\.\d+ → \$1\.\d+$/)
})
