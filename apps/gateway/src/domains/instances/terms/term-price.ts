import type { Quotes } from '../offer/quotes.ts'
import { type SizedColumns, sizedAs } from '../offer/sized.ts'
import type { InstanceRow } from '../rows.ts'

type Priced = SizedColumns & Pick<InstanceRow, 'chargeCycle'>

/** Columns of a term at today's prices: what it costs, and what its time costs on demand if it ends early. */
export type TermColumns = Pick<
  InstanceRow,
  'runningMicroPerHour' | 'stoppedMicroPerHour' | 'trafficMicroPerGb' | 'termMicro' | 'termDiskMicro'
> & { termMicro: bigint }

/**
 * What the next term of an instance costs at today's prices.
 * @throws ApiError `region_not_supported` or `gpu_spec_unknown` where it is not offered any more.
 */
export function nextTerm(quotes: Pick<Quotes, 'rates' | 'term'>, row: Priced): TermColumns {
  if (row.chargeCycle === null) throw new Error('an instance on demand has no terms')
  return { ...quotes.term(sizedAs(row), row.chargeCycle), ...hourly(quotes, row) }
}

/**
 * What an instance costs on demand at today's prices.
 * @throws ApiError as {@link nextTerm}.
 */
export function hourly(
  quotes: Pick<Quotes, 'rates'>,
  row: Priced,
): Pick<InstanceRow, 'runningMicroPerHour' | 'stoppedMicroPerHour' | 'trafficMicroPerGb'> {
  const { runningMicroPerHour, stoppedMicroPerHour, trafficMicroPerGb } = quotes.rates(sizedAs(row))
  return { runningMicroPerHour, stoppedMicroPerHour, trafficMicroPerGb }
}
