import { getInstanceMetrics, type InstanceMetrics, type MetricSeries } from '@berth/contract/instance-metrics'
import { expect, test } from 'vitest'
import { diskShareOf, drawnValues, gapsOf, graphsOf, newestOf, timesOf } from './graph-data.ts'
import { figureText, megabytesText } from './graph-texts.ts'

const series = (values: (number | null)[], lacks: MetricSeries['lacks'] = null): MetricSeries => ({
  values,
  lacks,
})

function metrics(values: (number | null)[], part: Partial<InstanceMetrics> = {}): InstanceMetrics {
  const none = series(values.map(() => null))
  return getInstanceMetrics.data.parse({
    instance_id: 'i-000000',
    state: 'sampled',
    sampled_since: '2026-11-20T12:00:00.000Z',
    sampled_at: '2026-11-20T12:01:00.000Z',
    from: '2026-11-20T12:00:00.000Z',
    step_seconds: 10,
    steps: values.length,
    cpu_percent: series(values),
    vcpu: 4,
    memory_used_mb: none,
    memory_limit_mb: 16_384,
    disk_used_mb: none,
    disk_size_mb: 20_480,
    network_in_rate: none,
    network_out_rate: none,
    gpus: [],
    ...part,
  })
}

test('[B9] a gap is a gap, and neither zero nor a line; a step that only came late is none', () => {
  const values = [null, null, null, null, 1, null, null, 2, null, null, null, 3, null, null]
  expect(gapsOf(metrics(values))).toEqual([{ first: 8, last: 10 }])
  expect(drawnValues({ of: null, values })).toEqual([
    ...[null, null, null, null, 1, undefined, undefined, 2, null, null, null, 3, null, null],
  ])
  expect(gapsOf(metrics([5, 6, null, null, null, null]))).toEqual([{ first: 2, last: 5 }])
  expect(gapsOf(metrics([null, null, null, null]))).toEqual([])
})

test('[B9] the newest figure is a new one, or none', () => {
  expect(newestOf({ of: null, values: [1, 2, null, null] })).toBe(2)
  expect(newestOf({ of: null, values: [1, null, null, null] })).toBeNull()
})

test('[B9] each GPU has its line, and an engine that cannot sample says so', () => {
  const gpu = { load_percent: series([50]), memory_used_mb: series([1_024]), memory_size_mb: 24_576 }
  const drawn = graphsOf(metrics([1], { gpus: [gpu, gpu], network_in_rate: series([null], 'not_measured') }))
  expect(drawn.map(({ kind, lines }) => [kind, lines.map(({ of }) => of)])).toEqual([
    ['gpu_load', [0, 1]],
    ['gpu_memory', [0, 1]],
    ['cpu', [null]],
    ['memory', [null]],
    ['disk', [null]],
    ['network', ['in', 'out']],
  ])
  expect(drawn.find(({ kind }) => kind === 'network')?.lacks).toBe('not_measured')
  expect(graphsOf(metrics([1])).map(({ kind }) => kind)).not.toContain('gpu_load')
})

test('how full the disk is comes from its newest figure', () => {
  expect(diskShareOf(metrics([1], { disk_used_mb: series([18_432]) }))).toEqual({ share: 0.9, leftMb: 2_048 })
  expect(diskShareOf(metrics([1]))).toBeNull()
})

test('figures have their unit beside them, and steps their time', () => {
  expect(figureText(23.6, 'percent')).toBe('24 %')
  expect(megabytesText(900)).toBe('900 MB')
  expect(figureText(16_384, 'megabytes')).toBe('16.0 GB')
  expect(figureText(23_000_000, 'bytes_per_second')).toBe('23.0 MB/s')
  expect(timesOf(metrics([1, 2]))).toEqual([1_795_176_000, 1_795_176_010])
})
