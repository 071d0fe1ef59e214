import type {
  ReferralOrder,
  ReferralQuarter,
  ReferralRecord,
  ReferralSummary,
} from '@berth/contract/referral'

/** A quarter as the gateway says it, with parts of it changed. */
export function madeQuarter(changes: Partial<ReferralQuarter> = {}): ReferralQuarter {
  return {
    quarter: '2026-Q4',
    since: '2026-10-01T00:00:00.000Z',
    until: '2027-01-01T00:00:00.000Z',
    state: 'open',
    currency: 'USD',
    total_earnings_micro: '12850000',
    rebate_micro: '7850000',
    first_topup_micro: '5000000',
    first_topups: 1,
    spent_micro: '157000000',
    carried_in_micro: '18400000',
    amount_micro: '31250000',
    bonus_micro: '31250000',
    cash_micro: '25000000',
    cash_fee_micro: '6250000',
    reward_type: null,
    settled_payout_micro: '0',
    pending_payout_micro: '31250000',
    payout_method: null,
    fee_micro: '0',
    paypal_account: null,
    choose_until: '2027-01-30T00:00:00.000Z',
    payout_at: null,
    paid_at: null,
    carried_to: null,
    failure: null,
    ...changes,
  }
}

/** What the page begins with, with parts of it changed. */
export function madeSummary(changes: Partial<ReferralSummary> = {}): ReferralSummary {
  return {
    link: 'https://berth.example/r/mira-4k7q',
    code: 'mira-4k7q',
    currency: 'USD',
    terms: {
      reward: 500,
      friend_reward: 500,
      first_topup: 1_000,
      rebate_rate: 5,
      threshold: 2_000,
      cash_fee_rate: 20,
      choice_days: 30,
      paypal_frozen_hours: 72,
    },
    total_earnings_micro: '83350000',
    settled_earnings_micro: '52100000',
    settled_payout_micro: '41680000',
    since: '2026-03-19T12:00:00.000Z',
    registered_users: 11,
    registered_this_quarter: 2,
    effective_consumers: 6,
    order_rewards: 38,
    quarter: madeQuarter(),
    to_choose: [],
    paypal: null,
    ...changes,
  }
}

/** An invited user, with parts changed. */
export function madeRecord(changes: Partial<ReferralRecord> = {}): ReferralRecord {
  return {
    id: 'r-1',
    user_email: 'j…@fastmail.com',
    registration_time: '2026-10-02T12:00:00.000Z',
    state: 'recharged',
    state_reason: null,
    currency: 'USD',
    order_payment_time: '2026-10-02T13:00:00.000Z',
    order_amount_micro: '25000000',
    paid_micro: '25000000',
    cash_payment_amount_micro: '61400000',
    rebate_rate: 5,
    rebate_amount_micro: '3070000',
    total_rebate_amount_micro: '3070000',
    ...changes,
  }
}

/** An order reward, with parts changed. */
export function madeOrder(changes: Partial<ReferralOrder> = {}): ReferralOrder {
  return {
    id: 'o-1',
    kind: 'rebate',
    quarter: '2026-Q4',
    user_email: 'j…@fastmail.com',
    registration_time: '2026-10-02T12:00:00.000Z',
    order_payment_time: '2026-11-03T00:00:00.000Z',
    currency: 'USD',
    order_amount_micro: '4000000',
    cash_payment_amount_micro: '3333333',
    rebate_rate: 5,
    rebate_amount_micro: '166666',
    state: 'recharged',
    ...changes,
  }
}
