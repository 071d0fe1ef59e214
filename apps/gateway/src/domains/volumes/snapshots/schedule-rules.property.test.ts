import { SNAPSHOT_EVERY, SNAPSHOT_MAKERS, SNAPSHOT_STATUSES } from '@berth/contract/volume-snapshots'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type KeptColumns, slotAfter, slotBefore, surplusOf } from './schedule-rules.ts'

const times = fc.record({
  every: fc.constantFrom(...SNAPSHOT_EVERY),
  hour: fc.integer({ min: 0, max: 23 }),
  weekday: fc.integer({ min: 0, max: 6 }),
})
const moment = fc.date({
  min: new Date('2001-01-01'),
  max: new Date('2099-12-31'),
  noInvalidDate: true,
})

test('[R1.2] a schedule has one moment in each hour, day or week, at its hour by UTC, and every moment lies between two', () => {
  fc.assert(
    fc.property(times, moment, (schedule, at) => {
      const [before, after] = [slotBefore(schedule, at), slotAfter(schedule, at)]
      if (schedule.every === 'off') {
        expect([before, after]).toEqual([null, null])
        return
      }
      if (!before || !after) throw new Error('a schedule without a moment')
      expect(before <= at && at < after).toBe(true)
      expect(slotBefore(schedule, before)).toEqual(before)
      expect(slotAfter(schedule, before)).toEqual(after)
      const hours = (after.getTime() - before.getTime()) / 3_600_000
      expect(hours).toBe({ hourly: 1, daily: 24, weekly: 168 }[schedule.every])
      expect(before.toISOString()).toMatch(/:00:00\.000Z$/)
      if (schedule.every !== 'hourly') expect(before.getUTCHours()).toBe(schedule.hour)
      if (schedule.every === 'weekly') expect(before.getUTCDay()).toBe(schedule.weekday)
    }),
  )
})

const row = fc.record({
  madeBy: fc.constantFrom(...SNAPSHOT_MAKERS),
  status: fc.constantFrom(...SNAPSHOT_STATUSES),
  wasThere: fc.boolean(),
})
const volume = fc.array(row, { maxLength: 40 }).map(rows =>
  rows.map(({ wasThere, ...one }, place): KeptColumns => {
    // What is ready was there, and what is being made was not.
    const isThere = one.status === 'ready' || (wasThere && one.status !== 'making')
    return { ...one, place, id: `s-${place}`, observedAt: isThere ? new Date(place) : null }
  }),
)

test('[R1.2] keeps the last ones that a schedule has taken, never deletes one taken by hand, and one good one is never deleted for a failure', () => {
  fc.assert(
    fc.property(volume, fc.integer({ min: 1, max: 30 }), (rows, keep) => {
      const gone = surplusOf(rows, keep)
      expect(gone.every(({ madeBy, status }) => madeBy === 'schedule' && status !== 'deleting')).toBe(true)
      const left = rows.filter(one => !gone.includes(one))
      const good = (all: KeptColumns[]) =>
        all.filter(one => one.madeBy === 'schedule' && one.observedAt !== null && one.status !== 'deleting')
      expect(good(left).length).toBe(Math.min(keep, good(rows).length))
      // The oldest go first.
      const oldestLeft = Math.min(...good(left).map(({ place }) => place))
      expect(good(gone).every(({ place }) => place < oldestLeft)).toBe(true)
      const dead = left.filter(
        one => one.madeBy === 'schedule' && one.status === 'failed' && one.observedAt === null,
      )
      expect(dead.length).toBeLessThanOrEqual(1)
      expect(gone.some(({ status }) => status === 'making')).toBe(false)
      // Done twice it is done once.
      expect(surplusOf(left, keep)).toEqual([])
    }),
  )
})
