import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatImageSize } from './sizes.ts'

test.each([
  [0, '0 MB'],
  [1, '1 MB'],
  [512, '512 MB'],
  [1_023, '1023 MB'],
  [1_024, '1024 MB'],
  [1_025, '2 GB'],
  [2_048, '2 GB'],
  [2_049, '3 GB'],
  [7_782, '8 GB'],
  [102_400, '100 GB'],
])('[R3.20] [R9.4] an image of %i MB is shown as %s', (mb, text) => {
  expect(formatImageSize(mb)).toBe(text)
})

test('[R9.4] over 1024 MB it is the least number of whole GB that holds the image', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1_025, max: 100_000_000 }), mb => {
      const [gb, unit] = formatImageSize(mb).split(' ')
      expect(unit).toBe('GB')
      expect(Number(gb) * 1_024).toBeGreaterThanOrEqual(mb)
      expect((Number(gb) - 1) * 1_024).toBeLessThan(mb)
    }),
  )
})
