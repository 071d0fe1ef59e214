import type { GpuSpec } from '@berth/contract/regions'

/** As many as fit beside the form without scrolling. */
const ROWS_MAX = 6

/**
 * What can be rented now, for the panel beside the form: each model once, where it is cheapest.
 * @param specs Every spec of every region.
 * @returns At most six, from cheap to dear; machines without a GPU only when no GPU is free.
 */
export function freeSpecs(specs: readonly GpuSpec[]): GpuSpec[] {
  const free = specs.filter(spec => spec.available > 0)
  const withGpu = free.filter(spec => spec.gpu)
  const byPrice = (withGpu.length > 0 ? withGpu : free).toSorted((a, b) =>
    Number(BigInt(a.price_micro_per_hour) - BigInt(b.price_micro_per_hour)),
  )
  return byPrice
    .filter((spec, index) => byPrice.findIndex(other => other.name === spec.name) === index)
    .slice(0, ROWS_MAX)
}
