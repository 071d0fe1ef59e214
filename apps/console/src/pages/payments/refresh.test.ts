import type { Transaction } from '@berth/contract/billing'
import { expect, test } from 'vitest'
import { refreshMs } from './refresh.ts'

const NOW_MS = Date.parse('2026-03-10T12:00:00Z')

test.each([
  ['nothing is known', undefined, 30_000],
  ['nothing waits', [row(5, null)], 30_000],
  ['a payment was begun just now', [row(5, 'bank')], 3_000],
  ['it waits a little longer', [row(100, 'bank')], 10_000],
  ['it waits for days', [row(200_000, 'customer')], 30_000],
  ['one waits for days, and another was begun just now', [row(200_000, 'bank'), row(5, 'platform')], 3_000],
  ['the clocks differ', [row(-60, 'bank')], 3_000],
])('the list is read again sooner while a young payment waits: %s', (_, rows, wanted) => {
  expect(refreshMs(rows, NOW_MS)).toBe(wanted)
})

function row(ageSeconds: number, waits_for: Transaction['about']['waits_for']): Transaction {
  const date = new Date(NOW_MS - ageSeconds * 1_000).toISOString()
  return { date, about: { waits_for } } as Transaction
}
