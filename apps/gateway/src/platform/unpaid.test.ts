import { expect, test } from 'vitest'
import { deletedOn, type UnpaidState, unpaidStep } from './unpaid.ts'

const DAY_MS = 86_400_000
const SINCE = new Date('2026-02-20T12:00:00.000Z')
const RULES = { keptDays: 14, noticeDays: [3, 1] }
const after = (days: number) => new Date(SINCE.getTime() + days * DAY_MS)

test.each<[string, number, Partial<UnpaidState> & { isPaid?: true }, ReturnType<typeof unpaidStep>]>([
  ['nothing while it is paid for', 20, { unpaidSince: null }, 'none'],
  ['nothing at first: that was told with its date', 0, {}, 'none'],
  ['nothing a moment before a day on which it is told', 11 - 1e-6, {}, 'none'],
  ['told three days before', 11, {}, { tellDay: 3 }],
  ['nothing once that was told', 12, { unpaidNoticeDay: 3 }, 'none'],
  ['told a day before', 13, { unpaidNoticeDay: 3 }, { tellDay: 1 }],
  ['told of the last day alone where nobody looked', 13.5, {}, { tellDay: 1 }],
  ['nothing more on the last day', 13.5, { unpaidNoticeDay: 1 }, 'none'],
  ['not deleted a moment before its date', 14 - 1e-6, { unpaidNoticeDay: 1 }, 'none'],
  ['deleted on its date', 14, { unpaidNoticeDay: 1 }, 'delete'],
  ['deleted later where nobody looked', 40, { unpaidNoticeDay: 1 }, 'delete'],
  ['kept for money that comes early', 2, { isPaid: true }, 'paid'],
  ['kept for money that comes at the last moment', 14, { unpaidNoticeDay: 1, isPaid: true }, 'paid'],
])('[B4] what nothing is left to pay for is %s', (_, days, { isPaid, ...state }, step) => {
  const row = { unpaidSince: SINCE, unpaidNoticeDay: null, ...state }
  expect(unpaidStep(row, RULES, { now: after(days), isUnpaid: !isPaid })).toEqual(step)
})

test('[B4] its date is so many whole days later, whatever the month', () => {
  expect(deletedOn({ unpaidSince: SINCE }, RULES)?.toISOString()).toBe('2026-03-06T12:00:00.000Z')
  expect(deletedOn({ unpaidSince: null }, RULES)).toBeNull()
})
