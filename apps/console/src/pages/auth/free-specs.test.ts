import type { GpuSpec } from '@berth/contract/regions'
import { expect, test } from 'vitest'
import { freeSpecs } from './free-specs.ts'

test('what is free is listed from cheap to dear, each model once, where it is cheapest', () => {
  const specs = [
    spec('H100 SXM', 2_390_000, 1),
    spec('RTX 4090', 440_000, 3),
    spec('RTX 4090', 420_000, 1),
    spec('B200', 4_990_000, 0),
    spec('CPU only', 80_000, 9, false),
  ]
  expect(freeSpecs(specs).map(row => [row.name, row.price_micro_per_hour])).toEqual([
    ['RTX 4090', '420000'],
    ['H100 SXM', '2390000'],
  ])
})

test('where no GPU is free, machines without one are', () => {
  const specs = [spec('B200', 4_990_000, 0), spec('CPU only', 80_000, 9, false)]
  expect(freeSpecs(specs).map(row => row.name)).toEqual(['CPU only'])
})

test('the list stays short', () => {
  const specs = Array.from({ length: 20 }, (_, index) => spec(`GPU ${index}`, 100_000 + index, 1))
  expect(freeSpecs(specs)).toHaveLength(6)
  expect(freeSpecs([])).toEqual([])
})

function spec(name: string, price: number, available: number, gpu = true): GpuSpec {
  return { name, price_micro_per_hour: String(price), available, gpu } as GpuSpec
}
