import fc from 'fast-check'
import { expect, test } from 'vitest'
import { discountedMicro, termPriceMicro, termPriceTrouble } from './term-prices.ts'

const DISCOUNTS = { weekly: 10, monthly: 20 }
const spec = (micro: bigint, own = {}) => ({ price_micro_per_hour: micro, term_prices_micro: own })

test('[R1.4] a term costs its hours less the discount, to the cent, or the price that is written for it', () => {
  // 168 h × 0.42 = 70.56, less 10 % 63.504; 720 h × 0.42 = 302.40, less 20 % 241.92.
  expect(termPriceMicro(spec(420_000n), DISCOUNTS, 'weekly')).toBe(63_500_000n)
  expect(termPriceMicro(spec(420_000n), DISCOUNTS, 'monthly')).toBe(241_920_000n)
  expect(termPriceMicro(spec(420_000n, { weekly: 60_000_000n }), DISCOUNTS, 'weekly')).toBe(60_000_000n)
  // A GB of disk is too cheap for cents.
  expect(discountedMicro(140n, DISCOUNTS, 'weekly')).toBe(21_168n)
})

test('[R1.4] no term costs more than its hours, whatever the discount', () => {
  const percent = fc.integer({ min: 0, max: 99 })
  fc.assert(
    fc.property(fc.bigInt(0n, 10n ** 9n), percent, percent, (micro, weekly, monthly) => {
      const discounts = { weekly, monthly }
      expect(termPriceMicro(spec(micro), discounts, 'weekly')).toBeLessThanOrEqual(micro * 168n)
      expect(termPriceMicro(spec(micro), discounts, 'monthly')).toBeLessThanOrEqual(micro * 720n)
    }),
  )
})

test('a price of its own is refused where it is more than the hours, or nothing', () => {
  expect(termPriceTrouble(spec(420_000n), 'weekly')).toBeNull()
  expect(termPriceTrouble(spec(420_000n, { weekly: 70_560_000n }), 'weekly')).toBeNull()
  expect(termPriceTrouble(spec(420_000n, { weekly: 70_560_001n }), 'weekly')).toContain(
    'more than its 7 days',
  )
  expect(termPriceTrouble(spec(420_000n, { monthly: 0n }), 'monthly')).toContain('is nothing')
  expect(termPriceTrouble(spec(0n, { monthly: 0n }), 'monthly')).toBeNull()
})
