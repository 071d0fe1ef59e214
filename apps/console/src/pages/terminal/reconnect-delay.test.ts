import { expect, test } from 'vitest'
import { reconnectDelayMs } from './reconnect-delay.ts'

test('[B9] a lost terminal is tried again soon, then ever more seldom, up to a cap', () => {
  const delays = Array.from({ length: 12 }, (_, index) => reconnectDelayMs(index + 1, 0.5))
  expect(delays.slice(0, 6)).toEqual([500, 1_000, 2_000, 4_000, 8_000, 15_000])
  expect(new Set(delays.slice(5))).toEqual(new Set([15_000]))
  expect(reconnectDelayMs(100_000, 0.5)).toBe(15_000)
})

test('tabs that lost the same gateway do not come back all at once', () => {
  expect(reconnectDelayMs(1, 0)).toBe(400)
  expect(reconnectDelayMs(1, 1)).toBe(600)
})
