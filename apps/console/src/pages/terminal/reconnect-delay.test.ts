import { expect, test } from 'vitest'
import { reconnectDelayMs } from './reconnect-delay.ts'

test('[B9] a lost terminal is tried again soon, then ever more seldom, up to a cap', () => {
  const delays = Array.from({ length: 12 }, (_, index) => reconnectDelayMs(index + 1, 0.5))
  expect(delays.slice(0, 5)).toEqual([300, 450, 675, 1_013, 1_519])
  expect(delays).toEqual(delays.toSorted((one, other) => one - other))
  expect(delays.at(-1)).toBe(15_000)
  expect(reconnectDelayMs(100_000, 0.5)).toBe(15_000)
})

test('[B9] a terminal whose gateway died is tried five times within five seconds', () => {
  const delays = Array.from({ length: 5 }, (_, index) => reconnectDelayMs(index + 1, 1))
  expect(delays.reduce((sum, delay) => sum + delay, 0)).toBeLessThan(5_000)
})

test('tabs that lost the same gateway do not come back all at once', () => {
  expect(reconnectDelayMs(1, 0)).toBe(240)
  expect(reconnectDelayMs(1, 1)).toBe(360)
})
