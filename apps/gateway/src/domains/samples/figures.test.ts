import {
  METRICS_RANGE_SECONDS_MAX,
  METRICS_RANGE_SECONDS_MIN,
  METRICS_STEPS_MAX,
} from '@berth/contract/limits'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { MachineSample } from '../../drivers/compute/port/observation.ts'
import { createFigures, type Figures, isQuietOf, meanOf, rateOf } from './figures.ts'
import { type SampleRow, thinned } from './sample-store.ts'
import { figuresByStep } from './series.ts'
import { stretchOf, TIERS, tiersOf } from './steps.ts'

/** What an engine or a machine may say in place of a number. */
const hostile = fc.oneof(
  fc.double(),
  fc.integer({ min: 0, max: 1000 }),
  fc.constantFrom(null, Number.NaN, Number.POSITIVE_INFINITY, -1, 1e300),
)
const samples = fc.array(
  fc.record({
    cpu_percent: hostile,
    memory_used_mb: hostile,
    memory_limit_mb: hostile,
    disk_used_mb: hostile,
    network_received_bytes: hostile,
    network_sent_bytes: hostile,
    network_at: fc.option(fc.date({ noInvalidDate: true })),
    gpus: fc.option(
      fc.array(fc.record({ uuid: fc.string(), busy_percent: hostile, memory_used_mb: hostile })),
    ),
    sampled_at: fc.date({ noInvalidDate: true }),
  }) satisfies fc.Arbitrary<MachineSample>,
  { maxLength: 8 },
)

describe('[B9] figures', () => {
  test('are finite, bounded and never negative, whatever machines say and however their counters go back', () => {
    fc.assert(
      fc.property(samples, fc.integer({ min: 0, max: 256 }), (all, vcpu) => {
        const figuresOf = createFigures(vcpu)
        for (const value of all.map(figuresOf).flatMap(valuesOf)) {
          expect(Number.isFinite(value)).toBe(true)
          expect(value).toBeGreaterThanOrEqual(0)
          expect(value).toBeLessThanOrEqual(2 ** 40)
        }
      }),
    )
  })

  test('of a counter are what it grew by, and nothing for the look after it began anew', () => {
    const looks = fc.array(
      fc.record({
        grows: fc.integer({ min: 0, max: 1e9 }),
        ms: fc.integer({ min: 1, max: 60_000 }),
        restarts: fc.boolean(),
      }),
      { minLength: 1 },
    )
    fc.assert(
      fc.property(looks, all => {
        let last = { bytes: 1e9, atMs: 0 }
        for (const { grows, ms, restarts } of all) {
          const now = { bytes: restarts ? last.bytes - 1 : last.bytes + grows, atMs: last.atMs + ms }
          const rate = rateOf(last, now)
          if (restarts || (grows * 1000) / ms > 125e9) expect(rate).toBeNull()
          else expect(((rate ?? Number.NaN) * ms) / 1000).toBeCloseTo(grows, 3)
          last = { bytes: Math.max(1, now.bytes), atMs: now.atMs }
        }
      }),
    )
  })

  test('of a network that is read less often than the rest stand until it is read again', () => {
    const figuresOf = createFigures(1)
    const at = (seconds: number, bytes: number, readAt: number) =>
      figuresOf(
        sampleOf({
          network_received_bytes: bytes,
          network_at: new Date(readAt * 1000),
          sampled_at: new Date(seconds * 1000),
        }),
      ).networkIn
    expect(at(1, 1000, 1)).toBeNull()
    expect(at(11, 21_000, 11)).toBe(2000)
    expect(at(12, 21_000, 11)).toBe(2000)
    expect(at(21, 21_000, 21)).toBe(0)
    // Its machine began anew.
    expect(at(31, 500, 31)).toBeNull()
    expect(at(41, 1500, 41)).toBe(100)
  })

  test('of processors are of all that a machine has', () => {
    expect(createFigures(4)(sampleOf({ cpu_percent: 200 })).cpu).toBe(50)
  })

  test('[B5] tell a quiet machine from one that works, also one processor of many or one GPU, and from one that is not known', () => {
    const quiet = (
      cpu: number | null,
      gpuLoad: (number | null)[] | null = null,
      vcpu = 1,
      gpuCount = gpuLoad?.length ?? 0,
    ) => isQuietOf({ cpu, gpuLoad }, { vcpu, gpuCount })
    expect([quiet(4.9), quiet(5), quiet(null)]).toEqual([true, false, null])
    expect([quiet(0.7, null, 64), quiet(0.8, null, 64)]).toEqual([true, false])
    expect([quiet(1, [1, 4]), quiet(1, [1, 5]), quiet(1, [1, null]), quiet(1, null, 1, 2)]).toEqual([
      true,
      false,
      null,
      null,
    ])
    expect([quiet(null, [90]), quiet(50, [null])]).toEqual([false, false])
  })

  test('that are thinned lie between the least and the most of what was sampled, and keep what is unknown unknown', () => {
    const row = fc.record({
      instanceId: fc.constantFrom('a', 'b'),
      at: fc.integer({ min: 0, max: 59 }).map(second => new Date(second * 1000)),
      step: fc.constantFrom(1, 10),
      cpu: fc.option(fc.integer({ min: 0, max: 100 })),
      gpuLoad: fc.option(fc.array(fc.option(fc.integer({ min: 0, max: 100 })), { maxLength: 2 })),
    })
    fc.assert(
      fc.property(fc.array(row), parts => {
        const rows = parts.map(part => ({ ...NOTHING, ...part }))
        const thin = thinned(rows, 60, new Date(0))
        expect(thin.map(({ instanceId }) => instanceId).sort()).toEqual(
          [...new Set(rows.map(one => one.instanceId))].sort(),
        )
        for (const { instanceId, cpu } of thin) {
          const told = rows.flatMap(one =>
            one.instanceId === instanceId && one.cpu !== null ? [one.cpu] : [],
          )
          if (told.length === 0) expect(cpu).toBeNull()
          else {
            expect(cpu).toBeGreaterThanOrEqual(Math.min(...told))
            expect(cpu).toBeLessThanOrEqual(Math.max(...told))
          }
        }
      }),
    )
    expect(
      meanOf([
        { ...NOTHING, step: 1, cpu: 100 },
        { ...NOTHING, step: 9, cpu: 0 },
      ]).cpu,
    ).toBe(10)
  })
})

describe('[B9] a stretch of time', () => {
  const NOW = 1_800_000_007

  test('has at most 600 steps that end now, of a tier in which all of it is kept', () => {
    const asked = fc.record({
      rangeSeconds: fc.integer({ min: METRICS_RANGE_SECONDS_MIN, max: METRICS_RANGE_SECONDS_MAX }),
      ago: fc.integer({ min: 0, max: METRICS_RANGE_SECONDS_MAX }),
      after: fc.option(fc.integer({ min: 0, max: 2 * NOW })),
    })
    fc.assert(
      fc.property(asked, ({ rangeSeconds, ago, after }) => {
        const to = NOW - ago
        const { from, step, steps } = stretchOf({ to, rangeSeconds, after }, NOW)
        expect(steps).toBeLessThanOrEqual(METRICS_STEPS_MAX)
        expect(from % step).toBe(0)
        if (after !== null && steps > 0) expect(from).toBeGreaterThan(after)
        if (after === null) {
          expect(from).toBeLessThan(to - rangeSeconds + step)
          expect(from + steps * step).toBeGreaterThanOrEqual(to)
        }
        for (const tier of tiersOf(step))
          expect(tier.step > step ? step : step % tier.step).toBe(tier.step > step ? 1 : 0)
      }),
    )
  })

  test('is drawn in seconds for ten minutes, then in tens, and in minutes and more for days', () => {
    const stepFor = (rangeSeconds: number) => stretchOf({ to: NOW, rangeSeconds, after: null }, NOW).step
    expect([300, 600, 3_600, 86_400, 7 * 86_400, 30 * 86_400].map(stepFor)).toEqual([
      1, 1, 10, 180, 1_200, 5_400,
    ])
    // An hour of last week is kept in ten minutes.
    expect(stretchOf({ to: NOW - 7 * 86_400, rangeSeconds: 3_600, after: null }, NOW).step).toBe(600)
  })

  test('shows what nobody sampled as a gap and no zero, and what is known of the rest', () => {
    const rows = [rowAt(100, 10, 4), rowAt(110, 1, 8), rowAt(112, 1, 9)]
    const seconds = figuresByStep(rows, { from: 105, step: 1, steps: 9 })
    expect(seconds.map(one => one?.cpu ?? null)).toEqual([4, 4, 4, 4, 4, 8, null, 9, null])
    const tens = figuresByStep(rows, { from: 90, step: 10, steps: 4 })
    expect(tens.map(one => one?.cpu ?? null)).toEqual([null, 4, 8.5, null])
    expect(TIERS.map(({ step }) => step)).toEqual([1, 10, 60, 600])
  })
})

const NOTHING: SampleRow = {
  instanceId: 'a',
  at: new Date(0),
  step: 1,
  cpu: null,
  memoryMb: null,
  diskMb: null,
  networkIn: null,
  networkOut: null,
  gpuLoad: null,
  gpuMemoryMb: null,
}

function rowAt(seconds: number, step: number, cpu: number): SampleRow {
  return { ...NOTHING, at: new Date(seconds * 1000), step, cpu }
}

function sampleOf(part: Partial<MachineSample>): MachineSample {
  return {
    cpu_percent: null,
    memory_used_mb: null,
    memory_limit_mb: null,
    disk_used_mb: null,
    network_received_bytes: null,
    network_sent_bytes: null,
    network_at: null,
    gpus: null,
    sampled_at: new Date(0),
    ...part,
  }
}

function valuesOf(figures: Figures): number[] {
  return Object.values(figures)
    .flat()
    .filter(value => value !== null)
}
