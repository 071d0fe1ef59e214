import { expect, test } from 'vitest'
import { percentOf } from './build-progress.ts'

test.each([
  [null, null],
  [{ step: 'waiting', bytes_done: 0, bytes_total: null, build_steps: null }, null],
  [{ step: 'saving', bytes_done: 0, bytes_total: 0, build_steps: null }, null],
  [{ step: 'saving', bytes_done: 5_200, bytes_total: 8_900, build_steps: null }, 58],
  [{ step: 'saving', bytes_done: 9_000, bytes_total: 8_900, build_steps: null }, 99],
  [{ step: 'building', bytes_done: 0, bytes_total: null, build_steps: { done: 2, total: 3 } }, 66],
] as const)('how far %j is: %s percent', (progress, percent) => {
  expect(percentOf(progress)).toBe(percent)
})
