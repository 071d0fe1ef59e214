import { expect, test } from 'vitest'
import { createCauseFilter } from './cause-filter.ts'

test('[R8.2] one cause makes one toast, however many calls it fails', () => {
  let now = 0
  const mayShow = createCauseFilter(() => now, 5_000)
  expect([mayShow('network'), mayShow('network'), mayShow('network')]).toEqual([true, false, false])
  now = 4_999
  expect(mayShow('network')).toBe(false)
  now = 5_000
  expect(mayShow('network')).toBe(true)
})

test('[R8.2] another cause is shown beside it', () => {
  const mayShow = createCauseFilter(() => 0)
  expect([mayShow('network'), mayShow('forbidden')]).toEqual([true, true])
})
