import { getInstanceMetrics } from '@berth/contract/instance-metrics'
import { queryOptions } from '@tanstack/react-query'
import { queryOf } from '../../../api/queries.ts'
import { RANGE_REFRESH_MS, RANGES, type Range } from './graph-data.ts'

/**
 * What an instance used over a range that ends now, asked for again as often as there is something new.
 * @param id Of the instance.
 */
export function metricsQuery(id: string, range: Range) {
  return queryOptions({
    ...queryOf(getInstanceMetrics, { params: { id }, query: { range_seconds: RANGES[range] } }),
    refetchInterval: RANGE_REFRESH_MS[range],
  })
}
