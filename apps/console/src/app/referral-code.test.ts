import { expect, test } from 'vitest'
import { referralCodeOf } from './referral-code.ts'

test('[R2.11] a referral code is taken from the address and cut to 200 characters', () => {
  expect(referralCodeOf('?ref=harbour')).toBe('harbour')
  expect(referralCodeOf('?mode=signup&referral_code=h%20b')).toBe('h b')
  expect(referralCodeOf(`?ref=${'x'.repeat(500)}`)).toBe('x'.repeat(200))
})

test.each(['', '?ref=', '?reference=x'])('[R2.11] %j brings none', search => {
  expect(referralCodeOf(search)).toBeNull()
})
