import * as z from 'zod'
import { defineCall } from './call.ts'
import { by, timestamp } from './fields.ts'
import { instanceId } from './instances.ts'
import {
  METRICS_RANGE_SECONDS_DEFAULT,
  METRICS_RANGE_SECONDS_MAX,
  METRICS_RANGE_SECONDS_MIN,
} from './limits.ts'

/** Why nothing is known of a figure, in words of the console: the engine does not measure it; its GPUs are simulated. */
export const METRIC_LACKS = ['not_measured', 'simulated'] as const
export type MetricLack = (typeof METRIC_LACKS)[number]

/**
 * Whether an instance is sampled now: `sampled`; it runs and has no figures yet, which comes right within half a minute;
 * it runs and nobody samples it at the moment; it does not run.
 */
export const METRICS_STATES = ['sampled', 'not_yet', 'silent', 'not_running'] as const
export type MetricsState = (typeof METRICS_STATES)[number]

/** One figure over time. */
export const metricSeries = z.object({
  /** A value for each step, the mean over it; null where nobody sampled: a gap, and no zero. */
  values: z.array(z.number().nullable()),
  /** Why there will be no values; null where there are, or may be. */
  lacks: z.enum(METRIC_LACKS).nullable(),
})
z.globalRegistry.add(metricSeries, { id: 'MetricSeries' })
export type MetricSeries = z.infer<typeof metricSeries>

/** What an instance used: step `n` of every figure begins at `from` and `n × step_seconds`. */
export const instanceMetrics = z.object({
  instance_id: z.string(),
  state: z.enum(METRICS_STATES),
  /** The oldest sample that is kept; null: it has not been sampled yet. */
  sampled_since: timestamp.nullable(),
  /** The newest sample. */
  sampled_at: timestamp.nullable(),
  from: timestamp,
  step_seconds: z.number().int(),
  /** How many steps there are, and values of each figure. */
  steps: z.number().int(),
  /** Percent of the processors that it has; more than 100 where its engine does not limit them. */
  cpu_percent: metricSeries,
  vcpu: z.number().int(),
  memory_used_mb: metricSeries,
  memory_limit_mb: z.number(),
  disk_used_mb: metricSeries,
  disk_size_mb: z.number(),
  /** Bytes in a second. */
  network_in_rate: metricSeries,
  network_out_rate: metricSeries,
  /** In the order in which the instance has them; empty where it has none. */
  gpus: z.array(
    z.object({
      load_percent: metricSeries,
      memory_used_mb: metricSeries,
      memory_size_mb: z.number(),
    }),
  ),
})
z.globalRegistry.add(instanceMetrics, { id: 'InstanceMetrics' })
export type InstanceMetrics = z.infer<typeof instanceMetrics>

export const getInstanceMetrics = defineCall({
  operation: 'instance.metrics',
  method: 'GET',
  path: '/api/instance/{id}/metrics',
  summary:
    'What an instance used over a stretch of time, in at most 600 steps. Asked for the last ten minutes or less, it is sampled each second meanwhile.',
  audience: 'user',
  timeout: 'normal',
  retry: true,
  params: z.object({ id: instanceId }),
  query: z.object({
    /** How long the stretch is, which decides how long its steps are. */
    range_seconds: z.coerce
      .number(by('not_a_number'))
      .int(by('not_whole'))
      .min(METRICS_RANGE_SECONDS_MIN, by('too_small'))
      .max(METRICS_RANGE_SECONDS_MAX, by('too_large'))
      .default(METRICS_RANGE_SECONDS_DEFAULT),
    /** When it ends; left out: now, by the gateway's clock. */
    to: z.iso.datetime(by('moment')).optional(),
    /** Only what came later: the steps are as long, and fewer. For who asks again and again. */
    after: z.iso.datetime(by('moment')).optional(),
  }),
  data: instanceMetrics,
})

export const instanceMetricsCalls = [getInstanceMetrics] as const
