import type { InstanceMetrics, MetricLack, MetricSeries } from '@berth/contract/instance-metrics'

/** What is drawn, in the order of the page. */
export const GRAPH_KINDS = ['gpu_load', 'gpu_memory', 'cpu', 'memory', 'disk', 'network'] as const
export type GraphKind = (typeof GRAPH_KINDS)[number]

/** The unit of a graph's figures. */
export type GraphUnit = 'percent' | 'megabytes' | 'bytes_per_second'

/** One line of a graph. */
export interface GraphLine {
  /** Which of several: the number of a GPU, or a direction; null where there is one line alone. */
  of: number | 'in' | 'out' | null
  values: readonly (number | null)[]
}

export interface Graph {
  kind: GraphKind
  unit: GraphUnit
  lines: readonly GraphLine[]
  /** What there is of it, in its unit: the top of the graph; null where there is no such thing. */
  whole: number | null
  /** Why there will be no figures; null where there are, or may be. */
  lacks: MetricLack | null
}

/** The ranges that one may look at, by their names on the page. */
export const RANGES = { live: 600, hour: 3_600, day: 86_400, month: 30 * 86_400 } as const
export type Range = keyof typeof RANGES

/** How often a range is asked for again: no more often than it has something new. */
export const RANGE_REFRESH_MS: Record<Range, number> = {
  live: 2_000,
  hour: 15_000,
  day: 60_000,
  month: 300_000,
}

/** The graphs of an instance; those of GPUs only where it has some. */
export function graphsOf(metrics: InstanceMetrics): readonly Graph[] {
  const { gpus } = metrics
  const ofGpus = (series: readonly MetricSeries[]) =>
    series.map((one, index) => line(one, series.length > 1 ? index : null))
  const [gpu] = gpus
  const gpuGraphs: Graph[] = gpu
    ? [
        graph('gpu_load', 'percent', 100, gpu.load_percent.lacks, ofGpus(gpus.map(one => one.load_percent))),
        graph(
          'gpu_memory',
          'megabytes',
          gpu.memory_size_mb,
          gpu.memory_used_mb.lacks,
          ofGpus(gpus.map(one => one.memory_used_mb)),
        ),
      ]
    : []
  const { cpu_percent, memory_used_mb, disk_used_mb, network_in_rate, network_out_rate } = metrics
  return [
    ...gpuGraphs,
    graph('cpu', 'percent', 100, cpu_percent.lacks, [line(cpu_percent)]),
    graph('memory', 'megabytes', metrics.memory_limit_mb, memory_used_mb.lacks, [line(memory_used_mb)]),
    graph('disk', 'megabytes', metrics.disk_size_mb, disk_used_mb.lacks, [line(disk_used_mb)]),
    graph('network', 'bytes_per_second', null, network_in_rate.lacks ?? network_out_rate.lacks, [
      line(network_in_rate, 'in'),
      line(network_out_rate, 'out'),
    ]),
  ]
}

function graph(
  kind: GraphKind,
  unit: GraphUnit,
  whole: number | null,
  lacks: MetricLack | null,
  lines: readonly GraphLine[],
): Graph {
  return { kind, unit, whole: whole !== null && whole > 0 ? whole : null, lacks, lines }
}

function line({ values }: MetricSeries, of: GraphLine['of'] = null): GraphLine {
  return { of, values }
}

/** The beginning of each step, in seconds since 1970. */
export function timesOf({ from, step_seconds, steps }: InstanceMetrics): readonly number[] {
  const first = Date.parse(from) / 1_000
  return Array.from({ length: steps }, (_, step) => first + step * step_seconds)
}

/** A stretch of steps in which nobody sampled; both ends included. */
export interface Gap {
  first: number
  last: number
}

/** Samples come a little before or after their step: only from here on it is a gap that somebody should see. */
const GAP_STEPS_MIN = 3

/**
 * Stretches in which nobody sampled, after the first sample: what came before it is no gap, and neither is what may be on
 * its way.
 */
export function gapsOf(metrics: InstanceMetrics): readonly Gap[] {
  const all = graphsOf(metrics).flatMap(({ lines }) => lines)
  const isSampled = (step: number) => all.some(({ values }) => (values[step] ?? null) !== null)
  return runsOf(metrics.steps, isSampled).filter(
    ({ first, last }) => first > 0 && last - first + 1 >= GAP_STEPS_MIN,
  )
}

/**
 * A line as it is drawn: over steps that are too few for a gap it goes on.
 * @returns Null in a gap, undefined where the line goes on without a value.
 */
export function drawnValues({ values }: GraphLine): (number | null | undefined)[] {
  const drawn: (number | null | undefined)[] = [...values]
  for (const { first, last } of runsOf(values.length, step => (values[step] ?? null) !== null)) {
    if (first > 0 && last < values.length - 1 && last - first + 1 < GAP_STEPS_MIN)
      drawn.fill(undefined, first, last + 1)
  }
  return drawn
}

/** Stretches of steps without a value. */
function runsOf(steps: number, hasValue: (step: number) => boolean): readonly Gap[] {
  const runs: Gap[] = []
  let last = -1
  for (let step = 0; step <= steps; step++) {
    if (step < steps && !hasValue(step)) continue
    if (step > last + 1) runs.push({ first: last + 1, last: step - 1 })
    last = step
  }
  return runs
}

/** The newest value of a line; null where it has none, or none that is new. */
export function newestOf({ values }: GraphLine): number | null {
  for (let step = values.length - 1; step >= Math.max(0, values.length - GAP_STEPS_MIN); step--) {
    const value = values[step] ?? null
    if (value !== null) return value
  }
  return null
}

/** How full the disk was when it was looked at last, from 0 to 1; null where nobody can say. */
export function diskShareOf(metrics: InstanceMetrics): { share: number; leftMb: number } | null {
  const { disk_used_mb, disk_size_mb } = metrics
  const used = newestOf(line(disk_used_mb))
  if (used === null || disk_size_mb <= 0) return null
  return { share: used / disk_size_mb, leftMb: Math.max(0, disk_size_mb - used) }
}
