import * as z from 'zod'
import { defineCall } from './call.ts'
import { by, currency, email, micro, page, pageOf, timestamp } from './fields.ts'
import { EMAIL_CHARS_MAX, PAYPAL_TOKEN_CHARS_MAX, REFERRAL_SEARCH_CHARS_MAX } from './limits.ts'
import { MONEY_READS } from './money-reads.ts'

/**
 * What became of a friend who signed up through a link (R4.9): the address is not verified yet; less is paid in than
 * what counts; it is; or it does not count, and `REFERRAL_REASONS` says why.
 */
export const REFERRAL_STATES = ['not_activated', 'not_recharged', 'recharged', 'invalid'] as const
export type ReferralState = (typeof REFERRAL_STATES)[number]

/**
 * Why a friend does not count. Facts, and never an accusation: `topup_returned`, of what was paid in less than what counts is
 * left; `not_eligible`, the terms do not cover it; `other_currency`, their wallet has another currency than the referrer's;
 * `account_deleted`, before anything was earned.
 */
export const REFERRAL_REASONS = [
  'topup_returned',
  'not_eligible',
  'other_currency',
  'account_deleted',
] as const
export type ReferralReason = (typeof REFERRAL_REASONS)[number]

/** What something was earned for: a friend's first top-ups, or what they spent in cash on a day. */
export const REFERRAL_REWARD_KINDS = ['first_topup', 'rebate'] as const

/** How a quarter is settled: credits without a fee, or money by PayPal less the fee. */
export const REWARD_TYPES = ['bonus', 'cash'] as const
export type RewardType = (typeof REWARD_TYPES)[number]

/**
 * A quarter of UTC: it runs; it has ended and waits for a choice, or for what the choice needs; money is to be paid; it was
 * handed to whoever pays; it was paid; it was credited; it did not arrive, and is chosen anew; it was less than what is paid, and
 * is part of the next one.
 */
export const QUARTER_STATES = [
  'open',
  'choosing',
  'to_be_paid',
  'paying',
  'paid',
  'credited',
  'failed',
  'carried_over',
] as const
export type QuarterState = (typeof QUARTER_STATES)[number]

/** A quarter of UTC, `2026-Q4`. */
export const QUARTER = /^2\d{3}-Q[1-4]$/
const quarterName = z.string().regex(QUARTER)

/** What money is earned and paid by here: the catalogue's figures, in cents of the account's own currency (R9.7). */
export const referralTerms = z.object({
  /** For each side, once the friend has paid in `first_topup`, at once or bit by bit. */
  reward: z.number().int(),
  friend_reward: z.number().int(),
  first_topup: z.number().int(),
  /** Percent of what the friend spends in cash. */
  rebate_rate: z.number(),
  /** What is paid from on; less is carried over to the next quarter. */
  threshold: z.number().int(),
  /** Percent that is taken off where a quarter is paid as money. */
  cash_fee_rate: z.number(),
  /** So long after a quarter's end it can be chosen how it is paid; then it is a bonus. */
  choice_days: z.number().int(),
  /** So long before it is paid, a PayPal account is not changed any more. */
  paypal_frozen_hours: z.number().int(),
})
z.globalRegistry.add(referralTerms, { id: 'ReferralTerms' })
export type ReferralTerms = z.infer<typeof referralTerms>

/** A quarter's summary (R3.13). */
export const referralQuarter = z.object({
  quarter: quarterName,
  since: timestamp,
  /** Its end, of UTC. */
  until: timestamp,
  state: z.enum(QUARTER_STATES),
  currency,
  /** Earned in this quarter alone: rebates, and what friends' first top-ups gave. Taken back is taken off. */
  total_earnings_micro: micro,
  /** Parts of it. */
  rebate_micro: micro,
  first_topup_micro: micro,
  /** For so many friends' first top-ups. */
  first_topups: z.number().int(),
  /** What friends spent in cash, of which the rebates are a part. */
  spent_micro: micro,
  /** Left from the quarter before. */
  carried_in_micro: micro,
  /** The two together: what is, or was, to be settled. */
  amount_micro: micro,
  /** What choosing comes to: credits without a fee; money in whole cents, the fee, and what is less than a cent and stays. */
  bonus_micro: micro,
  cash_micro: micro,
  cash_fee_micro: micro,
  /** What was chosen, or what it became without a choice; null while nothing was. */
  reward_type: z.enum(REWARD_TYPES).nullable(),
  /** What has arrived: credits, or money after the fee. */
  settled_payout_micro: micro,
  /** What is still to be paid, as it is chosen; of a quarter that runs, and while nothing is chosen, the bonus. */
  pending_payout_micro: micro,
  payout_method: z.enum(['credits', 'paypal']).nullable(),
  /** The fee that was, or will be, taken. */
  fee_micro: micro,
  /** The PayPal account that it goes, or went, to. */
  paypal_account: z.string().nullable(),
  /** Until when the choice can be made or changed; null where it cannot be. */
  choose_until: timestamp.nullable(),
  /** From when on it is paid, where money was chosen and the account is confirmed. */
  payout_at: timestamp.nullable(),
  /** When it was paid or credited. */
  paid_at: timestamp.nullable(),
  /** The quarter that it became part of. */
  carried_to: quarterName.nullable(),
  /** What the last payout failed for: the account does not take it, it is none, or something else. */
  failure: z.enum(['account_refused', 'account_unknown', 'not_accepted', 'other']).nullable(),
})
z.globalRegistry.add(referralQuarter, { id: 'ReferralQuarter' })
export type ReferralQuarter = z.infer<typeof referralQuarter>

/** Where money is paid to. */
export const paypalAccount = z.object({
  paypal_account: z.string(),
  state: z.enum(['unconfirmed', 'confirmed']),
  confirmed_at: timestamp.nullable(),
  /** When the last mail with a link went to it, and from when on there may be another one. */
  mail_sent_at: timestamp,
  mail_again_at: timestamp,
  /** Until when it can be neither changed nor removed, since money goes there; null where it can. */
  frozen_until: timestamp.nullable(),
})
z.globalRegistry.add(paypalAccount, { id: 'PaypalAccount' })
export type PaypalAccount = z.infer<typeof paypalAccount>

/** What the page of referrals begins with (R2.28). */
export const referralSummary = z.object({
  /** What leads to a sign-up that is counted, and the code in it. */
  link: z.string(),
  code: z.string(),
  currency,
  terms: referralTerms,
  total_earnings_micro: micro,
  /** Of it what was settled, before any fee, and what of that arrived. */
  settled_earnings_micro: micro,
  settled_payout_micro: micro,
  /** When the first friend signed up; null where none has. */
  since: timestamp.nullable(),
  registered_users: z.number().int(),
  registered_this_quarter: z.number().int(),
  /** Friends who have paid in what counts. */
  effective_consumers: z.number().int(),
  /** Rows of the list of order rewards. */
  order_rewards: z.number().int(),
  /** The quarter that runs. */
  quarter: referralQuarter,
  /** Quarters that have ended and wait for a choice, the oldest first. */
  to_choose: z.array(referralQuarter),
  paypal: paypalAccount.nullable(),
})
z.globalRegistry.add(referralSummary, { id: 'ReferralSummary' })
export type ReferralSummary = z.infer<typeof referralSummary>

/** A friend who signed up through the link (R3.13). */
export const referralRecord = z.object({
  id: z.string(),
  /** Masked, such as `j…@fastmail.com`; null where the account is gone. */
  user_email: z.string().nullable(),
  registration_time: timestamp,
  state: z.enum(REFERRAL_STATES),
  state_reason: z.enum(REFERRAL_REASONS).nullable(),
  currency,
  /** The first top-up: when it was paid, and how much it was; null where there is none. */
  order_payment_time: timestamp.nullable(),
  order_amount_micro: micro.nullable(),
  /** Paid in so far, less what went back. */
  paid_micro: micro,
  /** Spent in cash in the quarter that is asked for. */
  cash_payment_amount_micro: micro,
  /** Percent of it. */
  rebate_rate: z.number(),
  /** What came of it in that quarter, and of everything in all of them. */
  rebate_amount_micro: micro,
  total_rebate_amount_micro: micro,
})
z.globalRegistry.add(referralRecord, { id: 'ReferralRecord' })
export type ReferralRecord = z.infer<typeof referralRecord>

/** What was earned for something: a friend's first top-ups, or what they spent on one day of UTC. */
export const referralOrder = z.object({
  id: z.string(),
  kind: z.enum(REFERRAL_REWARD_KINDS),
  /** The quarter that it counts in: what is known late, or changes, counts in the one that runs then. */
  quarter: quarterName,
  user_email: z.string().nullable(),
  registration_time: timestamp,
  /** When the top-up was paid, or the beginning of the day. */
  order_payment_time: timestamp,
  currency,
  /** What was paid in; what the day's usage cost, and what of that was paid in cash. */
  order_amount_micro: micro,
  cash_payment_amount_micro: micro,
  /** Percent; null of first top-ups, whose reward is fixed. */
  rebate_rate: z.number().nullable(),
  /** Negative where more was taken back than earned. */
  rebate_amount_micro: micro,
  /** The friend's. */
  state: z.enum(REFERRAL_STATES),
})
z.globalRegistry.add(referralOrder, { id: 'ReferralOrder' })
export type ReferralOrder = z.infer<typeof referralOrder>

const quarter = z.string(by('required')).regex(QUARTER, by('not_allowed'))
/** Looks in masked addresses, as they are shown. */
const search = z.string(by('wrong_type')).max(REFERRAL_SEARCH_CHARS_MAX, by('too_long')).optional()
const quarterParams = z.object({ quarter })

/** What invited users are narrowed by, in the list and in the file alike. */
export const referralRecordFilters = {
  state: z.enum(REFERRAL_STATES, by('not_allowed')).optional(),
  search,
  /** Whose figures are shown; left out: the quarter that runs. It leaves nobody out. */
  quarter: quarter.optional(),
}

/** The same of order rewards. */
export const referralOrderFilters = {
  kind: z.enum(REFERRAL_REWARD_KINDS, by('not_allowed')).optional(),
  state: z.enum(REFERRAL_STATES, by('not_allowed')).optional(),
  quarter: quarter.optional(),
  search,
}

/** Reads that are old once a choice is made, or a PayPal account changes. */
const REFERRAL_READS = ['referral.get', 'referral.quarters'] as const

export const getReferral = defineCall({
  operation: 'referral.get',
  method: 'GET',
  path: '/api/referral',
  summary: 'The link of the account, what it has earned, the quarter that runs and what is to be chosen.',
  audience: 'user',
  timeout: 'normal',
  retry: true,
  data: referralSummary,
})

export const listReferralRecords = defineCall({
  operation: 'referral.records',
  method: 'GET',
  path: '/api/referral/record',
  summary: 'Friends who signed up through the link, newest first, with masked addresses.',
  audience: 'user',
  timeout: 'normal',
  retry: true,
  query: z.object({ ...page, ...referralRecordFilters }),
  data: pageOf(referralRecord),
})

export const downloadReferralRecords = defineCall({
  operation: 'referral.record-download',
  method: 'GET',
  path: '/api/referral/record/download',
  summary:
    'Invited users as CSV: the rows of the list with the same filters. The head is in the language of the request.',
  audience: 'user',
  timeout: 'download',
  retry: true,
  file: 'text/csv',
  query: z.object(referralRecordFilters),
  data: z.string(),
})

export const listReferralOrders = defineCall({
  operation: 'referral.orders',
  method: 'GET',
  path: '/api/referral/order',
  summary: 'What was earned for what, newest first: first top-ups, and days on which friends spent cash.',
  audience: 'user',
  timeout: 'normal',
  retry: true,
  query: z.object({ ...page, ...referralOrderFilters }),
  data: pageOf(referralOrder),
})

export const downloadReferralOrders = defineCall({
  operation: 'referral.order-download',
  method: 'GET',
  path: '/api/referral/order/download',
  summary:
    'Order rewards as CSV: the rows of the list with the same filters. The head is in the language of the request.',
  audience: 'user',
  timeout: 'download',
  retry: true,
  file: 'text/csv',
  query: z.object(referralOrderFilters),
  data: z.string(),
})

export const listReferralQuarters = defineCall({
  operation: 'referral.quarters',
  method: 'GET',
  path: '/api/referral/quarter',
  summary: 'Quarters in which something was earned or carried over, and the one that runs, newest first.',
  audience: 'user',
  timeout: 'normal',
  retry: true,
  query: z.object(page),
  data: pageOf(referralQuarter),
})

/** What the dialog of a settlement sends (R2.25). */
export const chooseSettlementBody = z.object({ reward_type: z.enum(REWARD_TYPES, by('not_allowed')) })
z.globalRegistry.add(chooseSettlementBody, { id: 'ChooseSettlementBody' })

export const chooseSettlement = defineCall({
  operation: 'referral.choose',
  method: 'PUT',
  path: '/api/referral/quarter/{quarter}',
  summary: 'Chooses how a quarter is settled: the one that runs, or one that has ended and waits for it.',
  audience: 'verified',
  timeout: 'normal',
  audit: { target: ['params.quarter'] },
  stales: [...MONEY_READS, ...REFERRAL_READS],
  params: quarterParams,
  body: chooseSettlementBody,
  data: referralQuarter,
})

/** What the form of the PayPal account sends (R5.11). */
export const paypalAccountBody = z.object({
  paypal_account: z
    .string(by('required'))
    .trim()
    .min(1, by('required'))
    .max(EMAIL_CHARS_MAX, by('email'))
    .pipe(email),
})
z.globalRegistry.add(paypalAccountBody, { id: 'PaypalAccountBody' })

export const getPaypalAccount = defineCall({
  operation: 'referral.paypal',
  method: 'GET',
  path: '/api/referral/paypal',
  summary: 'Where money is paid to; null where nothing is said.',
  audience: 'user',
  timeout: 'normal',
  retry: true,
  data: paypalAccount.nullable(),
})

export const setPaypalAccount = defineCall({
  operation: 'referral.set-paypal',
  method: 'PUT',
  path: '/api/referral/paypal',
  summary:
    'Says where money is paid to, and mails a link there that confirms it. The same again changes nothing.',
  audience: 'verified',
  timeout: 'email',
  rateClass: 'mail',
  proof: 'recent',
  audit: { target: [] },
  stales: ['referral.paypal', ...REFERRAL_READS, 'mailbox.list'],
  body: paypalAccountBody,
  data: paypalAccount,
})

export const confirmPaypalAccount = defineCall({
  operation: 'referral.confirm-paypal',
  method: 'POST',
  path: '/api/referral/paypal/confirm',
  summary: 'Confirms the PayPal account by the token of the link that was mailed to it, which counts once.',
  audience: 'verified',
  timeout: 'normal',
  rateClass: 'mail',
  audit: { target: [] },
  stales: ['referral.paypal', ...REFERRAL_READS],
  body: z.object({
    token: z.string(by('required')).min(1, by('required')).max(PAYPAL_TOKEN_CHARS_MAX, by('too_long')),
  }),
  data: paypalAccount,
})

export const resendPaypalMail = defineCall({
  operation: 'referral.resend-paypal',
  method: 'POST',
  path: '/api/referral/paypal/resend',
  summary: 'Mails another link to the PayPal account; the one before counts no more.',
  audience: 'verified',
  timeout: 'email',
  rateClass: 'mail',
  audit: { target: [] },
  stales: ['referral.paypal', ...REFERRAL_READS, 'mailbox.list'],
  data: paypalAccount,
})

export const removePaypalAccount = defineCall({
  operation: 'referral.remove-paypal',
  method: 'DELETE',
  path: '/api/referral/paypal',
  summary: 'Removes the PayPal account. What was to be paid there waits for another one, or becomes a bonus.',
  audience: 'verified',
  timeout: 'normal',
  audit: { target: [] },
  stales: ['referral.paypal', ...REFERRAL_READS],
  data: z.null(),
})

export const referralCalls = [
  getReferral,
  listReferralRecords,
  downloadReferralRecords,
  listReferralOrders,
  downloadReferralOrders,
  listReferralQuarters,
  chooseSettlement,
  getPaypalAccount,
  setPaypalAccount,
  confirmPaypalAccount,
  resendPaypalMail,
  removePaypalAccount,
] as const
