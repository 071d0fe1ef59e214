import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type AlarmNews, type AlarmState, planAlarm, QUIET_MS, TELL_AGAIN_MS } from './alarm-plan.ts'

const MINUTE_MS = 60_000

test('an alarm is told once it has lasted, then once a day, then that it is over; what passes sooner is told to nobody, nor what comes back within the hour', () => {
  const looks = fc.array(
    fc.record({
      afterMs: fc.oneof(
        fc.integer({ min: 1, max: 10 * MINUTE_MS }),
        fc.integer({ min: 1, max: 30 * 3_600_000 }),
      ),
      wrong: fc.boolean(),
    }),
    {
      maxLength: 60,
    },
  )
  fc.assert(
    fc.property(looks, fc.constantFrom(0, 5 * MINUTE_MS), (all, lastsMs) => {
      let state: AlarmState | null = null
      let at = 0
      let wrongSince: number | null = null
      let told: { news: AlarmNews; at: number } | null = null
      for (const { afterMs, wrong } of all) {
        at += afterMs
        const now = new Date(at)
        const { news, ...next }: AlarmState & { news: AlarmNews | null } = planAlarm(state, wrong ? 2 : 0, {
          now,
          lastsMs,
        })
        wrongSince = wrong ? (wrongSince ?? at) : null
        expect(next.since?.getTime() ?? null).toBe(wrongSince)
        const lasted = wrongSince !== null && at - wrongSince >= lastsMs
        const isQuiet = told?.news === 'over' && at - told.at < QUIET_MS
        const isOpen: boolean = told !== null && told.news !== 'over'
        const expected: AlarmNews | null = !wrong
          ? isOpen
            ? 'over'
            : null
          : isOpen
            ? at - (told?.at ?? 0) >= TELL_AGAIN_MS
              ? 'still'
              : null
            : lasted && !isQuiet
              ? 'raised'
              : null
        expect(news).toBe(expected)
        if (news !== null) told = { news, at }
        state = next
      }
    }),
  )
})

test('what cannot be counted raises nothing', () => {
  const now = new Date(0)
  expect(planAlarm(null, Number.NaN, { now, lastsMs: 0 })).toEqual({
    ...{ since: null, toldAt: null, overAt: null },
    news: null,
  })
})
