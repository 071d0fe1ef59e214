import { STOPPED_POD_KEPT_DAYS, STOPPED_POD_NOTICE_DAYS } from '@berth/contract/limits'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type DeletionRow, deletionOf, deletionStepOf, nextDeletionStep } from './deletion-rules.ts'

const STOPPED = new Date('2026-03-01T12:00:00.000Z')
const DAY_MS = 86_400_000
const after = (days: number) => new Date(STOPPED.getTime() + days * DAY_MS)

const pod: DeletionRow = {
  kind: 'POD',
  status: 'stopped',
  desired: 'stopped',
  stoppedAt: STOPPED,
  keptUntil: null,
  deletionNoticeDay: null,
  unpaidSince: null,
  billingType: 'postpay',
  expiryTime: null,
  terminatedAt: null,
}

test.each([
  ['a stopped pod', {}, 30],
  ['a pod that ended by itself', { status: 'exited' }, 30],
  ['a pod whose announcement came late', { keptUntil: after(33) }, 33],
  ['a pod in advance whose first term never began', { billingType: 'prepay' }, 30],
  ['a virtual machine', { kind: 'VM' }, null],
  ['a virtual machine that nothing is left to pay for', { kind: 'VM', unpaidSince: after(5) }, 35],
  [
    'a virtual machine that was announced late',
    { kind: 'VM', unpaidSince: after(5), keptUntil: after(40) },
    40,
  ],
  ['a pod that is paid for in advance', { billingType: 'prepay', expiryTime: after(40) }, null],
  ['a pod that is being stopped', { status: 'stopping', stoppedAt: null }, null],
  ['a pod that failed', { status: 'error', stoppedAt: null }, null],
  ['a pod that runs', { status: 'running', desired: 'running', stoppedAt: null }, null],
  ['a pod that is being removed', { status: 'deleting', desired: 'terminated' }, null],
] as const)('[R9.6] the day on which %s is deleted', (_, part, days) => {
  expect(deletionOf({ ...pod, ...part })).toEqual(days === null ? null : after(days))
})

test('[R9.6] what is not looked at in time is announced at each day that was missed, and deleted after the last', () => {
  expect(nextDeletionStep(pod, after(1))).toEqual(after(23))
  expect(deletionStepOf(pod, after(22.9))).toBeNull()
  expect(deletionStepOf(pod, after(35))).toEqual({
    kind: 'announce_deletion',
    day: 7,
    keptUntil: after(42),
  })
  const told = { ...pod, deletionNoticeDay: 3, keptUntil: after(42) }
  expect(nextDeletionStep(told, after(39))).toEqual(after(41))
  expect(deletionStepOf(told, after(50))).toMatchObject({ day: 1, keptUntil: after(51) })
  const last = { ...told, deletionNoticeDay: 1 }
  expect(deletionStepOf(last, after(41.9))).toBeNull()
  expect(deletionStepOf(last, after(42))).toEqual({ kind: 'delete_stopped' })
})

test('[R9.6] whenever it is looked at, nothing is deleted without each announcement, as long before as it says', () => {
  const pauseMs = fc.oneof(
    fc.integer({ min: 1, max: DAY_MS }),
    fc.integer({ min: 1, max: 40 * DAY_MS }),
    // As the reconciler does: when something is due.
    fc.constant(0),
  )
  fc.assert(
    fc.property(fc.array(pauseMs, { maxLength: 60 }), pauses => {
      let row = pod
      let now = STOPPED
      const told: { day: number; at: Date }[] = []
      for (const pause of pauses) {
        now = pause === 0 ? (nextDeletionStep(row, now) ?? now) : new Date(now.getTime() + pause)
        const step = deletionStepOf(row, now)
        if (step?.kind === 'announce_deletion') {
          told.push({ day: step.day, at: now })
          row = { ...row, deletionNoticeDay: step.day, keptUntil: step.keptUntil }
          expect(step.keptUntil.getTime() - now.getTime()).toBeGreaterThanOrEqual(step.day * DAY_MS)
        }
        if (step?.kind !== 'delete_stopped') continue
        expect(now.getTime()).toBeGreaterThanOrEqual(after(STOPPED_POD_KEPT_DAYS).getTime())
        expect(told.map(({ day }) => day)).toEqual(STOPPED_POD_NOTICE_DAYS)
        for (const { day, at } of told) {
          expect(now.getTime() - at.getTime()).toBeGreaterThanOrEqual(day * DAY_MS)
        }
        return
      }
      expect(told.map(({ day }) => day)).toEqual(STOPPED_POD_NOTICE_DAYS.slice(0, told.length))
    }),
    { numRuns: 500 },
  )
})
