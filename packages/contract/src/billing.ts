import * as z from 'zod'
import { defineCall } from './call.ts'
import { CHARGE_CYCLES } from './charge-terms.ts'
import { by, centsBetween, currency, micro, page, pageOf, timestamp } from './fields.ts'
import { INSTANCE_EVENT_CODES } from './instance-codes.ts'
import { INSTANCE_STATUSES } from './instance-states.ts'
import { TOPUP_CENTS_MAX, TOPUP_CENTS_MIN } from './limits.ts'
import { MONEY_READS } from './money-reads.ts'
import { downloadTransactions, TRANSACTION_TYPES, transactionFilters } from './transaction-filters.ts'
import { usageKind } from './usage-kinds.ts'

/** A wallet (R3.6), in cents: `amount` = `amount_available` + `amount_freeze`. */
export const balance = z.object({
  currency,
  account_balance: z.object({
    /** All that is there. */
    amount: z.number().int(),
    /** What can be spent now. */
    amount_available: z.number().int(),
    /** The part of `amount` that was given, not paid. */
    amount_credits: z.number().int(),
    /** Of the credits, what may only be spent on models. */
    amount_free: z.number().int(),
    /** Reserved for what runs. */
    amount_freeze: z.number().int(),
    /** Owed, because a payment was given back after it had been spent; the next money pays it first. */
    amount_owed: z.number().int(),
  }),
  coupon_count: z.number().int(),
  /** What everything that is on costs now, and how long what is there lasts at that; null without spending. */
  burn_micro_per_hour: micro,
  lasts_seconds: z.number().int().nullable(),
})
z.globalRegistry.add(balance, { id: 'Balance' })
export type Balance = z.infer<typeof balance>

/**
 * What a balance has for machines, and for all that is no call of a model, in cents: what is there less what is reserved. What may only be spent on
 * models is never counted, as the gateway does not when it is asked to pay.
 */
export function spendableCents({ account_balance: account }: Pick<Balance, 'account_balance'>): number {
  return account.amount - account.amount_freeze - account.amount_free
}

export const getBalance = defineCall({
  operation: 'bill.balance',
  method: 'GET',
  path: '/api/bill/balance',
  summary: "The customer's balance. The console asks every five seconds while its tab is visible.",
  audience: 'user',
  timeout: 'fast',
  outlivesNavigation: true,
  data: balance,
})

export const payPlatform = z.object({
  platform_name: z.string(),
  display_name: z.string(),
  /** True when no real money moves. */
  test: z.boolean(),
  currencies: z.array(currency),
  /** Where a card is entered: in the caller's own form, or on the platform's page, which the top-up leads to. */
  entry: z.enum(['card', 'hosted']),
  /**
   * Where it is `hosted`: what the platform's own script in the caller's page is opened by. It enters a card there, and what
   * it calls the card is the `source`. Null where cards are entered at the platform's page alone.
   */
  publishable_key: z.string().nullable(),
})
z.globalRegistry.add(payPlatform, { id: 'PayPlatform' })

export const listPayPlatforms = defineCall({
  operation: 'bill.pay-platform',
  method: 'GET',
  path: '/api/bill/pay-platform',
  summary: 'Ways to pay that this installation offers.',
  audience: 'user',
  timeout: 'normal',
  retry: true,
  data: z.array(payPlatform),
})

/** What people know a card by; the words around it are the reader's. */
export const card = z.object({
  /** Such as `Visa`. */
  brand: z.string(),
  /** The last four digits; empty where it is no card. */
  last4: z.string(),
})
z.globalRegistry.add(card, { id: 'Card' })
export type Card = z.infer<typeof card>

/** Where the customer confirms: an address of the platform, or a path of this gateway; null when nothing is asked. */
const nextUrl = z.string().nullable()

/** What the top-up dialog holds (R2.22, R5.8): one of `source` and `method_id` says what is charged. */
export const topupBody = z.object({
  amount: centsBetween(TOPUP_CENTS_MIN, TOPUP_CENTS_MAX),
  currency,
  platform_name: z.string(by('required')).min(1, by('required')).max(50, by('too_long')),
  /**
   * What the platform charges: for the test cards, the card's number; `checkout` where it asks on a page of its own, or what
   * its script calls a card.
   */
  source: z.string(by('required')).min(1, by('required')).max(200, by('too_long')).optional(),
  /** The id of a saved method, in place of `source`. */
  method_id: z.string(by('required')).min(1, by('required')).max(80, by('too_long')).optional(),
  /** Keeps what was entered as `source`, once it was paid. */
  save_method: z.boolean(by('wrong_type')).optional(),
  /**
   * The newest top-up that whoever asks knows of, as a transaction's id; null: none. Where the customer has begun another
   * since, nothing is charged (`topup_elsewhere`). Left out, it does not matter.
   */
  after: z.string(by('wrong_type')).max(80, by('too_long')).nullable().optional(),
})
z.globalRegistry.add(topupBody, { id: 'TopupBody' })

export const topup = defineCall({
  operation: 'bill.topup',
  method: 'POST',
  path: '/api/bill/topup',
  summary:
    'Charges the source once, at once, later, or after a confirmation; what the platform then has is added to the balance.',
  audience: 'verified',
  timeout: 'long',
  spends: true,
  audit: { target: ['data.transaction_id'] },
  stales: [
    ...MONEY_READS,
    'bill.topup-open',
    'bill.checkout-url',
    'bill.payment-method',
    'bill.auto-topup',
    'instance.price',
    'netvolume.price',
    'netvolume.list',
    'instance.check-resource',
  ],
  body: topupBody,
  data: z.object({
    transaction_id: z.string(),
    amount: z.number().int(),
    currency,
    /** As in `TopupState`, of which these are possible here. */
    status: z.enum(['settled', 'pending', 'processing', 'requires_action']),
    next_url: nextUrl,
  }),
})

/** A top-up as it is known now. */
export const topupState = z.object({
  transaction_id: z.string(),
  created_at: timestamp,
  amount: z.number().int(),
  /** The part that was given back. */
  refunded_amount: z.number().int(),
  currency,
  card,
  /**
   * It waits for the customer (`requires_action`), for an answer of the platform (`pending`), or for the bank
   * (`processing`), which may take days; the others are ends.
   */
  status: z.enum(['requires_action', 'pending', 'processing', 'settled', 'failed', 'canceled', 'refunded']),
  /** An error code, for one that failed. */
  failure: z.string().nullable(),
  next_url: nextUrl,
})
z.globalRegistry.add(topupState, { id: 'TopupState' })
export type TopupState = z.infer<typeof topupState>

const topupParams = z.object({ id: z.string(by('required')).max(80, by('too_long')) })

export const listOpenTopups = defineCall({
  operation: 'bill.topup-open',
  method: 'GET',
  path: '/api/bill/topup',
  summary: 'Top-ups of which it is not known yet whether they were paid, newest first.',
  audience: 'user',
  timeout: 'normal',
  retry: true,
  data: z.array(topupState),
})

export const getTopup = defineCall({
  operation: 'bill.topup-state',
  method: 'GET',
  path: '/api/bill/topup/{id}',
  summary:
    'A top-up as it is known now. Only this says that money has come, never the way back from a platform.',
  audience: 'user',
  timeout: 'normal',
  retry: true,
  params: topupParams,
  data: topupState,
})

export const cancelTopup = defineCall({
  operation: 'bill.topup-cancel',
  method: 'DELETE',
  path: '/api/bill/topup/{id}',
  summary: 'Ends a top-up that waits for a confirmation. One that has moved on is answered as it is.',
  audience: 'user',
  timeout: 'normal',
  audit: { target: ['params.id'] },
  stales: [
    ...MONEY_READS,
    'bill.topup-open',
    'bill.topup-state',
    'bill.checkout-url',
    'bill.payment-method',
    'bill.auto-topup',
  ],
  params: topupParams,
  data: topupState,
})

/** One row of the transaction list (R3.10). Amounts are signed for the customer: money in is positive. */
export const transaction = z.object({
  id: z.string(),
  date: timestamp,
  type: z.enum(TRANSACTION_TYPES),
  status: z.enum(['pending', 'settled', 'failed']),
  currency,
  amount_micro: micro,
  cash_amount_micro: micro,
  bonus_amount_micro: micro,
  coupon_amount_micro: micro,
  /** What is due but not posted yet. */
  pending_amount_micro: micro,
  invoice: z.string().nullable(),
  /** What it is about; which keys are set depends on the type. */
  about: z.object({
    /** `compute` while running, `disk` while stopped, `public_ip` of an address of its own all the time, `image` of an image that is kept. */
    usage: usageKind.nullable(),
    instance_id: z.string().nullable(),
    instance_name: z.string().nullable(),
    /** Of a network volume or a snapshot of it, as the volume was called then. */
    volume_name: z.string().nullable(),
    /** Of an image that is kept, as it was called then. */
    image_name: z.string().nullable(),
    /** Of calls of a model, as it was called then. */
    model_name: z.string().nullable(),
    gpu_spec_name: z.string().nullable(),
    gpu_count: z.number().int().nullable(),
    /** The address, of a public IP. */
    address: z.string().nullable(),
    seconds: z.number().int().nullable(),
    /** Null of what was counted, not timed. */
    rate_micro_per_hour: micro.nullable(),
    /** Bytes, of what an instance has sent. */
    sent_bytes: z.number().int().nullable(),
    /** Tokens, in and out, of calls of a model. */
    tokens: z.number().int().nullable(),
    /** Of a term that was paid in advance: it begins at the row's date. */
    charge_cycle: z.enum(CHARGE_CYCLES).nullable(),
    /** What a top-up was paid with, or where a refund goes. */
    card: card.nullable(),
    /** Who began a top-up: the customer, or auto top-up; null for what is none. */
    origin: z.enum(['customer', 'auto']).nullable(),
    /** Why a credit was given, such as `demo`. */
    credit_reason: z.string().nullable(),
    /** Whether a payment was given back, or a bank took it because somebody disputes it; set for refunds alone. */
    refund_reason: z.enum(['refund', 'dispute']).nullable(),
    /** Who is to act next on a top-up that is not decided. */
    waits_for: z.enum(['customer', 'platform', 'bank']).nullable(),
    /** An error code, for a top-up that failed. */
    failure: z.string().nullable(),
  }),
})
z.globalRegistry.add(transaction, { id: 'Transaction' })
export type Transaction = z.infer<typeof transaction>

export const listTransactions = defineCall({
  operation: 'bill.transaction',
  method: 'GET',
  path: '/api/bill/transaction',
  summary: 'Transactions, newest first. A stretch of usage is one row, however often it was posted.',
  audience: 'user',
  timeout: 'normal',
  retry: true,
  query: z.object({ ...page, ...transactionFilters }),
  data: pageOf(transaction),
})

/** Sides of an entry in the ledger: the customer's two accounts, then the house's. */
export const LEDGER_SIDES = [
  'cash',
  'credits',
  'revenue',
  'promotions',
  'write_off',
  'receivable',
  'clearing',
] as const

/** What a transaction opens to (B2): line → interval → state changes. */
export const receipt = z.object({
  transaction,
  /** The stretch that was metered; null for a top-up or a credit. */
  interval: z
    .object({
      started_at: timestamp,
      ended_at: timestamp.nullable(),
      seconds: z.number().int(),
      rate_micro_per_hour: micro,
      /** What parts of a second at the ends of earlier stretches have cost; rounded down. */
      carried_micro: micro,
      /** floor(carried + seconds × rate ÷ 3600). */
      due_micro: micro,
      posted_micro: micro,
      /** Due and not taken, because the wallet was empty. */
      waived_micro: micro,
    })
    .nullable(),
  /**
   * The ledger's entries, oldest first: those of one UTC day between the same two accounts are one line, so that
   * a machine that ran for a month, and was posted each minute, still opens to something that can be read.
   */
  lines: z.array(
    z.object({
      date: z.iso.date(),
      from_account: z.enum(LEDGER_SIDES),
      to_account: z.enum(LEDGER_SIDES),
      /** The name of the platform whose money a side `clearing` is; null without such a side. */
      platform: z.string().nullable(),
      /** How many entries it stands for. */
      entries: z.number().int(),
      amount_micro: micro,
    }),
  ),
  /** What the instance went through in that time, oldest first. */
  events: z.array(
    z.object({
      at: timestamp,
      status: z.enum(INSTANCE_STATUSES),
      code: z.enum(INSTANCE_EVENT_CODES),
      detail: z.string(),
    }),
  ),
})
z.globalRegistry.add(receipt, { id: 'Receipt' })
export type Receipt = z.infer<typeof receipt>

export const getReceipt = defineCall({
  operation: 'bill.transaction-receipt',
  method: 'GET',
  path: '/api/bill/transaction/{id}',
  summary: "A transaction's receipt.",
  audience: 'user',
  timeout: 'normal',
  retry: true,
  params: z.object({ id: z.string(by('required')).max(80, by('too_long')) }),
  data: receipt,
})

const spend = z.object({
  currency,
  days: z.array(
    z.object({
      date: z.iso.date(),
      amount_micro: micro,
      /** By kind of usage, in the order of kinds; kinds without spending are left out. */
      kinds: z.array(z.object({ usage: usageKind, amount_micro: micro })),
    }),
  ),
})
z.globalRegistry.add(spend, { id: 'Spend' })
export type Spend = z.infer<typeof spend>

export const getSpend = defineCall({
  operation: 'bill.spend',
  method: 'GET',
  path: '/api/bill/spend',
  summary:
    'What was spent by day (UTC) and kind of usage, oldest first; days without spending are there as zero.',
  audience: 'user',
  timeout: 'normal',
  retry: true,
  query: z.object({
    days: z.coerce
      .number(by('not_a_number'))
      .int(by('not_whole'))
      .min(1, by('too_small'))
      .max(90, by('too_large'))
      .default(14),
  }),
  data: spend,
})

export const billingCalls = [
  getBalance,
  listPayPlatforms,
  topup,
  listOpenTopups,
  getTopup,
  cancelTopup,
  listTransactions,
  downloadTransactions,
  getReceipt,
  getSpend,
] as const
