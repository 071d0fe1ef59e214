import { getInstanceMetrics } from '@berth/contract/instance-metrics'
import { type Route, route } from '../../platform/http/handler.ts'
import type { Samples } from './samples.ts'

/** The call that tells what an instance used (B9). */
export function samplesRoutes(samples: Pick<Samples, 'metrics'>): Route[] {
  return [
    route(getInstanceMetrics, ({ caller, params, query }) =>
      samples.metrics(
        { userId: caller.userId, instanceId: params.id },
        {
          rangeSeconds: query.range_seconds,
          to: query.to === undefined ? null : new Date(query.to),
          after: query.after === undefined ? null : new Date(query.after),
        },
      ),
    ),
  ]
}
