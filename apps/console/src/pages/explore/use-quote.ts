import type { Image } from '@berth/contract/images'
import { getPrice } from '@berth/contract/instances'
import { CONTAINER_DISK_GB_MAX, CONTAINER_DISK_GB_MIN } from '@berth/contract/limits'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { queryOf } from '../../api/queries.ts'
import { useFormat } from '../../ui/format.ts'

/** What is priced and checked. */
export interface QuoteInput {
  kind: Image['kind']
  billing_type: 'postpay'
  region_code: string
  gpu_spec_id: string
  gpu_count: number
  image_id: string
  container_disk_gb: number
}

/** Typing settles before it is priced. */
const SETTLE_MS = 200

export type Quote = ReturnType<typeof useQuote>

/**
 * What a machine would cost. While it is asked for again, the last answer stays.
 * @returns The query, its rates as they are read beside their sum, and what was asked for.
 */
export function useQuote(input: QuoteInput) {
  const format = useFormat()
  const { container_disk_gb: disk } = input
  const diskFits = Number.isInteger(disk) && disk >= CONTAINER_DISK_GB_MIN && disk <= CONTAINER_DISK_GB_MAX
  const [asked] = useDebouncedValue(input, SETTLE_MS)
  const { image_id: _, ...priced } = asked
  const enabled = diskFits && asked.region_code !== ''
  const price = useQuery({
    ...queryOf(getPrice, { query: priced }),
    enabled,
    placeholderData: keepPreviousData,
  })
  const { data } = price
  const rates =
    data &&
    format.rateParts(
      data.lines.map(line => line.rate_micro_per_hour),
      data.currency,
      'h',
    )
  const diskRate = rates?.parts[data?.lines.findIndex(({ key }) => key === 'disk') ?? -1]
  return { price, asked, enabled, rates, diskRate }
}
