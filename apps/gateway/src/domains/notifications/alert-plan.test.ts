import { ALERT_HOURS_CHOICES } from '@berth/contract/limits'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { planAlert } from './alert-plan.ts'

const HOUR = 3_600

test.each([
  { why: 'lasts longer', hours: 30, chosen: [24, 3], sent: [], announce: null, mark: [], rearm: [] },
  { why: 'reaches an hour', hours: 24, chosen: [24, 3], sent: [], announce: 24, mark: [24], rearm: [] },
  { why: 'was announced', hours: 20, chosen: [24, 3], sent: [24], announce: null, mark: [], rearm: [] },
  { why: 'reaches the next', hours: 3, chosen: [24, 3], sent: [24], announce: 3, mark: [3], rearm: [] },
  {
    why: 'falls past several',
    hours: 0.5,
    chosen: [24, 3, 1],
    sent: [],
    announce: 1,
    mark: [24, 3, 1],
    rearm: [],
  },
  { why: 'is used up', hours: 0, chosen: [24], sent: [], announce: 24, mark: [24], rearm: [] },
  {
    why: 'was announced at a shorter hour, which is not chosen any more',
    hours: 2,
    chosen: [24],
    sent: [3],
    announce: null,
    mark: [24],
    rearm: [],
  },
  {
    why: 'lasts longer again',
    hours: 5,
    chosen: [24, 3],
    sent: [24, 3],
    announce: null,
    mark: [],
    rearm: [3],
  },
  { why: 'nothing is chosen', hours: 0.1, chosen: [], sent: [], announce: null, mark: [], rearm: [] },
  {
    why: 'a longer one is chosen late',
    hours: 2,
    chosen: [24, 3],
    sent: [3],
    announce: null,
    mark: [24],
    rearm: [],
  },
  { why: 'nothing burns', hours: null, chosen: [24, 3], sent: [24], announce: null, mark: [], rearm: [] },
])('[B4] $why: announces $announce', ({ hours, chosen, sent, announce, mark, rearm }) => {
  const lastsSeconds = hours === null ? null : hours * HOUR
  expect(planAlert({ lastsSeconds, chosen, sent })).toEqual({ announce, mark, rearm })
})

/**
 * Goal: whatever a balance does, each hour is announced at most once on the way down, never while the balance lasts
 * longer, and never not at all. Method: any sequence of runways and choices, against a plain retelling of the rule.
 */
test('[B4] each chosen hour is announced at most once for each descent, and never from above', () => {
  const runway = fc.option(fc.integer({ min: 0, max: 80 * HOUR }), { nil: null })
  const step = fc.record({ lastsSeconds: runway, chosen: fc.subarray([...ALERT_HOURS_CHOICES]) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), steps => {
      let sent: number[] = []
      /** Hours announced, or passed over, since the balance last lasted longer than them. */
      const told = new Set<number>()
      for (const { lastsSeconds, chosen } of steps) {
        const { announce, mark, rearm } = planAlert({ lastsSeconds, chosen, sent })
        sent = [...sent.filter(hours => !rearm.includes(hours)), ...mark]
        expect(new Set(sent).size).toBe(sent.length)

        if (lastsSeconds === null) {
          expect(announce).toBeNull()
          continue
        }
        for (const hours of told) if (lastsSeconds > hours * HOUR) told.delete(hours)
        const reached = chosen.filter(hours => lastsSeconds <= hours * HOUR)
        const fresh = reached.filter(hours => !told.has(hours))
        if (announce !== null) {
          expect(fresh).toContain(announce)
          expect(lastsSeconds).toBeLessThanOrEqual(announce * HOUR)
          expect(announce).toBe(Math.min(...reached))
        }
        // A shorter hour than any announced on this way down is always worth a mail.
        const shortest = Math.min(...fresh)
        if (fresh.length > 0 && [...told].every(hours => hours > shortest)) expect(announce).toBe(shortest)
        for (const hours of reached) told.add(hours)
      }
    }),
    { numRuns: 2_000 },
  )
})
