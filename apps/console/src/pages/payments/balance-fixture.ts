import type { Balance } from '@berth/contract/billing'

/** A balance of 41.87, of which 1.34 is set aside, that 1.40 an hour uses up. */
export const madeBalance = (about: Partial<Balance> = {}): Balance => ({
  currency: 'USD',
  account_balance: {
    amount: 4_187,
    amount_available: 4_053,
    amount_credits: 1_137,
    amount_free: 0,
    amount_freeze: 134,
    amount_owed: 0,
  },
  coupon_count: 0,
  burn_micro_per_hour: '1400000',
  lasts_seconds: 107_665,
  ...about,
})
