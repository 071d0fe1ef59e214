import { IMAGE_NEWS } from '../../images/events.ts'
import { REFERRAL_NEWS, type ReferralNews } from '../../referral/events.ts'
import { VOLUME_NEWS } from '../../volumes/events.ts'
import { ADDRESS_TEXTS } from './address-mail.ts'
import { AUTO_TOP_UP_TEXTS } from './auto-top-up-mail.ts'
import { BALANCE_LOW_TEXTS } from './balance-low-mail.ts'
import { BUDGET_TEXTS } from './budget-mail.ts'
import { CREDITS_ENDING_TEXTS } from './credits-ending-mail.ts'
import { DELETION_TEXTS } from './deletion-mail.ts'
import { FILM_TEXTS } from './film-mail.ts'
import { IMAGE_TEXTS } from './image-mail.ts'
import { INSTANCE_TROUBLE_TEXTS } from './instance-trouble-mail.ts'
import { KEY_ADDED_TEXTS } from './key-added-mail.ts'
import { NEW_SIGN_IN_TEXTS } from './new-sign-in-mail.ts'
import type { NoticeTexts } from './notice-mail.ts'
import { REFERRAL_TEXTS } from './referral-mail.ts'
import { REFUND_TEXTS } from './refund-mail.ts'
import { RESUME_TEXTS } from './resume-mail.ts'
import { TERM_TEXTS } from './term-mail.ts'
import { TOP_UP_RECEIPT_TEXTS } from './top-up-receipt-mail.ts'
import { VOLUME_TEXTS } from './volume-mail.ts'

const at = '2026-03-01 12:00 UTC'

/** What each of the mails on referrals says. */
const QUARTER = { quarter: '2026-Q1', amount: '$25.00' }
const PAYPAL = { about: 'ada@example.com' }
const REFERRAL_VALUES: Record<ReferralNews, Record<string, string>> = {
  earned: { amount: '$5.00', about: 'j…@example.com' },
  choose: { ...QUARTER, until: at },
  reminder: { ...QUARTER, until: at },
  credited: QUARTER,
  scheduled: { ...QUARTER, ...PAYPAL, fee: '$6.25', until: at },
  paid: { ...QUARTER, ...PAYPAL, fee: '$6.25' },
  failed: { ...QUARTER, ...PAYPAL, until: at },
  paypal_changed: PAYPAL,
}

/** Each notice with what it may say: for tests that it is whole, and for operators who want to see it. */
export const NOTICE_EXAMPLES: readonly (readonly [string, NoticeTexts<never>, Record<string, string>])[] = [
  ['new sign-in', NEW_SIGN_IN_TEXTS, { at, address: '203.0.113.7', browser: 'Firefox, Linux' }],
  ['SSH key', KEY_ADDED_TEXTS, { at, what: 'ssh_key', name: 'laptop' }],
  ['registry credential', KEY_ADDED_TEXTS, { at, what: 'registry', name: 'laptop' }],
  ['film that is ready', FILM_TEXTS, { at, outcome: 'ready', model: 'Wan' }],
  ['film that failed', FILM_TEXTS, { at, outcome: 'failed', model: 'Wan' }],
  ['API key', KEY_ADDED_TEXTS, { at, what: 'api_key', name: 'laptop' }],
  [
    'receipt',
    TOP_UP_RECEIPT_TEXTS,
    {
      ...{ at, amount: '$19.99', paidWith: 'Visa ending 4242', number: 't_1' },
      ...{ resuming: 'llama', stopped: 'llama' },
    },
  ],
  [
    'start that failed',
    RESUME_TEXTS,
    { name: 'llama', news: 'failed', reason: 'GPU is sold out.', next: at },
  ],
  ['start given up', RESUME_TEXTS, { name: 'llama', news: 'given_up', reason: 'GPU is sold out.', next: '' }],
  [
    'refund',
    REFUND_TEXTS,
    { at, outcome: 'given_back', amount: '$19.99', paidWith: 'Visa ending 4242', number: 'r_1' },
  ],
  [
    'refund that failed',
    REFUND_TEXTS,
    { at, outcome: 'came_back', amount: '$19.99', paidWith: 'Visa ending 4242', number: 'r_1' },
  ],
  [
    'dispute',
    REFUND_TEXTS,
    { at, outcome: 'disputed', amount: '$19.99', paidWith: 'Visa ending 4242', number: 'r_1' },
  ],
  [
    'dispute that was won',
    REFUND_TEXTS,
    { at, outcome: 'dispute_won', amount: '$19.99', paidWith: 'Visa ending 4242', number: 'r_1' },
  ],
  ['failed instance', INSTANCE_TROUBLE_TEXTS, { at, cause: 'error', names: 'llama' }],
  ['exited instance', INSTANCE_TROUBLE_TEXTS, { at, cause: 'exited', names: 'llama' }],
  [
    'instance stopped by the operator',
    INSTANCE_TROUBLE_TEXTS,
    { at, cause: 'stopped_by_operator', names: 'llama' },
  ],
  ['moved instance', INSTANCE_TROUBLE_TEXTS, { at, cause: 'moved_by_operator', names: 'llama' }],
  ['stopped instance', INSTANCE_TROUBLE_TEXTS, { at, cause: 'balance_used_up', names: 'llama' }],
  ['coming renewal', TERM_TEXTS, { outcome: 'will_renew', name: 'llama', until: at, price: '$12.09' }],
  ['renewal in doubt', TERM_TEXTS, { outcome: 'will_stop', name: 'llama', until: at, price: '$12.09' }],
  [
    'renewal that is no longer offered',
    TERM_TEXTS,
    { outcome: 'will_stop', name: 'llama', until: at, price: '' },
  ],
  ['coming release', TERM_TEXTS, { outcome: 'will_release', name: 'llama', until: at }],
  ['renewed instance', TERM_TEXTS, { outcome: 'renewed', name: 'llama', until: at, price: '$12.09' }],
  ['instance that could not be renewed', TERM_TEXTS, { outcome: 'unpaid', name: 'llama' }],
  ['released instance', TERM_TEXTS, { outcome: 'released', name: 'llama' }],
  [
    'coming deletion',
    DELETION_TEXTS,
    { outcome: 'will_delete', name: 'llama', since: '2026-01-30 12:00 UTC', until: at, days: '30' },
  ],
  [
    'deleted instance',
    DELETION_TEXTS,
    { outcome: 'deleted', name: 'llama', since: '2026-01-30 12:00 UTC', until: at, days: '30' },
  ],
  [
    'coming deletion of what nobody pays for',
    DELETION_TEXTS,
    { outcome: 'will_delete_unpaid', name: 'llama', since: '2026-01-30 12:00 UTC', until: at },
  ],
  [
    'deleted instance that nobody paid for',
    DELETION_TEXTS,
    { outcome: 'deleted_unpaid', name: 'llama', until: at, days: '30' },
  ],
  [
    'address that nobody pays for',
    ADDRESS_TEXTS,
    { news: 'unpaid', address: '203.0.113.7', name: 'llama', until: at },
  ],
  [
    'address that was given back',
    ADDRESS_TEXTS,
    { news: 'given_back_unpaid', address: '203.0.113.7', name: 'llama', until: at },
  ],
  ...REFERRAL_NEWS.map((news): [string, NoticeTexts<never>, Record<string, string>] => [
    `referral: ${news}`,
    REFERRAL_TEXTS,
    { news, ...REFERRAL_VALUES[news] },
  ]),
  [
    'budget',
    BUDGET_TEXTS,
    {
      share: '80',
      period: 'day',
      amount: '$10.00',
      spent: '$8.00',
      until: at,
      stops: 'yes',
      of: 'instance',
      name: 'llama',
    },
  ],
  [
    'refused auto top-up',
    AUTO_TOP_UP_TEXTS,
    {
      at,
      news: 'declined',
      amount: '$50.00',
      paidWith: 'Visa ending 0002',
      reason: '(why)',
      next: '2026-03-01 13:00 UTC',
    },
  ],
  [
    'auto top-up that was turned off',
    AUTO_TOP_UP_TEXTS,
    { at, news: 'turned_off', amount: '$50.00', paidWith: 'Visa ending 0002', reason: '(why)' },
  ],
  [
    'capped auto top-up',
    AUTO_TOP_UP_TEXTS,
    { at, news: 'capped', amount: '$50.00', cap: '$200.00', next: '2026-04-01 00:00 UTC' },
  ],
  ['credits that end', CREDITS_ENDING_TEXTS, { total: '$7.50', last: at, list: '$7.50 — 2026-03-01' }],
  ['low balance', BALANCE_LOW_TEXTS, { balance: '$2.50', rate: '$1.0000', lasts: '2:30' }],
  ...VOLUME_NEWS.map(
    news => [`volume: ${news}`, VOLUME_TEXTS, { at, news, name: 'datasets', detail: '', until: at }] as const,
  ),
  ...IMAGE_NEWS.map(
    news => [`image: ${news}`, IMAGE_TEXTS, { at, news, name: 'vllm', detail: '', until: at }] as const,
  ),
]
