import type { ChargeCycle } from '@berth/contract/charge-terms'
import { imageReference } from '@berth/contract/image-choice'
import type { Image } from '@berth/contract/images'
import { type Check, checkResource, getPrice, type Price } from '@berth/contract/instances'
import {
  CONTAINER_DISK_GB_MAX,
  CONTAINER_DISK_GB_MIN,
  OWN_DISK_GB_MAX,
  OWN_DISK_GB_MIN,
} from '@berth/contract/limits'
import type { PublicIpType } from '@berth/contract/public-ip'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { queryOf } from '../../api/queries.ts'
import { useFormat } from '../../ui/format.ts'
import { isOwnDisk } from './BillingChoice.tsx'

/** What is priced and checked. */
export interface QuoteInput {
  kind: Image['kind']
  billing_type: 'postpay' | 'prepay'
  charge_cycle: ChargeCycle | null
  region_code: string
  gpu_spec_id: string
  gpu_count: number
  image_id: string | null
  image_reference: string | null
  registry_credential_id: string | null
  container_disk_gb: number
  /** Null: none. */
  data_disk_gb: number | null
  pod_volume_gb: number | null
  public_ip: PublicIpType
  /** Null: none. */
  network_volume_id: string | null
  http_ports: number[]
  tcp_ports: number[]
  udp_ports: number[]
}

/** Typing settles before it is priced, and longer before a registry is asked. */
const SETTLE_MS = 200
const REFERENCE_SETTLE_MS = 800
const CHECK_REFRESH_MS = 15_000

export type Quote = ReturnType<typeof useQuote>

/**
 * What a machine would cost. While it is asked for again, the last answer stays.
 * @returns The query, its rates as they are read beside their sum, and what was asked for.
 */
export function useQuote(input: QuoteInput) {
  const format = useFormat()
  const { container_disk_gb: disk } = input
  const ownDisk = input.data_disk_gb ?? input.pod_volume_gb
  const diskFits =
    isWithin(disk, CONTAINER_DISK_GB_MIN, CONTAINER_DISK_GB_MAX) &&
    (ownDisk === null || isWithin(ownDisk, OWN_DISK_GB_MIN, OWN_DISK_GB_MAX))
  const asked = useSettled(input)
  const { http_ports, tcp_ports, udp_ports } = asked
  const { image_reference: reference, charge_cycle, data_disk_gb, pod_volume_gb } = asked
  const [settled] = useDebouncedValue(input.image_reference, REFERENCE_SETTLE_MS)
  const isImageNamed =
    reference === null || (settled === reference && imageReference.safeParse(reference).success)
  const { kind, billing_type, region_code, gpu_spec_id, gpu_count, container_disk_gb, public_ip } = asked
  const priced = {
    ...{ kind, billing_type, region_code, gpu_spec_id, gpu_count, container_disk_gb, public_ip },
    ...(charge_cycle !== null && { charge_cycle }),
    ...(data_disk_gb !== null && { data_disk_gb }),
    ...(pod_volume_gb !== null && { pod_volume_gb }),
  }
  const enabled = diskFits && asked.region_code !== ''
  const price = useQuery({
    ...queryOf(getPrice, { query: priced }),
    enabled,
    placeholderData: keepPreviousData,
  })
  const check = useQuery({
    ...queryOf(checkResource, {
      body: {
        ...asked,
        http_ports: portsThatAre(http_ports),
        tcp_ports: portsThatAre(tcp_ports),
        udp_ports: portsThatAre(udp_ports),
      },
    }),
    enabled: enabled && isImageNamed,
    placeholderData: keepPreviousData,
    refetchInterval: CHECK_REFRESH_MS,
  })
  // What was said of another image says nothing of this one.
  const said =
    isImageNamed && !check.isPlaceholderData && settled === input.image_reference ? check.data : null
  /** What the last check says against a field, as long as that holds what was checked. */
  function faultAt(path: string): Check | null {
    const field = path === 'network_volume.id' ? 'network_volume_id' : (path as keyof QuoteInput)
    if (check.isPlaceholderData || JSON.stringify(asked[field]) !== JSON.stringify(input[field])) return null
    return check.data?.checks.find(({ ok, values }) => !ok && values.field === path) ?? null
  }
  const imageFault = said?.checks.find(({ key, ok }) => key === 'image' && !ok) ?? null
  const { data } = price
  const rates =
    data &&
    format.rateParts(
      data.lines.map(line => line.rate_micro_per_hour),
      data.currency,
      'h',
    )
  const addressRate = rates?.parts[data?.lines.findIndex(({ key }) => key === 'public_ip') ?? -1]
  return { price, check, imageFault, faultAt, rates, diskRate: data && diskRateOf(data), addressRate }

  /** Of all its disks together. */
  function diskRateOf({ lines, currency }: Price): string {
    const disks = lines.filter(line => line.key === 'disk' || isOwnDisk(line))
    const sum = disks.reduce((micro, line) => micro + BigInt(line.rate_micro_per_hour), 0n)
    return format.rate(String(sum), currency, 'h', true)
  }
}

/** What is asked for, once it stays: by what it holds, since each drawing makes it anew. */
function useSettled(input: QuoteInput): QuoteInput {
  const [settled, setSettled] = useState(input)
  const content = JSON.stringify(input)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the content stands for it
  useEffect(() => {
    const timer = setTimeout(() => setSettled(input), SETTLE_MS)
    return () => clearTimeout(timer)
  }, [content])
  return settled
}

/** While somebody types, what is no port yet is left to the form's own rules. */
function portsThatAre(typed: number[]): number[] {
  return checkResource.body.shape.tcp_ports.safeParse(typed).data ?? []
}

function isWithin(gb: number, least: number, most: number): boolean {
  return Number.isInteger(gb) && gb >= least && gb <= most
}
