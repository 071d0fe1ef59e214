import * as z from 'zod'
import { topup, topupBody } from './billing.ts'
import { defineCall } from './call.ts'
import { by, currency, timestamp } from './fields.ts'

/**
 * What a customer has kept to pay with again (R3.7). It is `saving` while the platform has not said that it has it, while
 * the card is to be entered at the platform's own page, or while its bank asks; one that is not kept is `refused` for a day.
 */
export const paymentMethod = z.object({
  id: z.string(),
  platform_name: z.string(),
  /** The platform's own id of it; empty while it is saving. */
  source: z.string(),
  /** Such as `Visa`. */
  brand: z.string(),
  last4: z.string(),
  /** Null while it is saving. */
  expiry_month: z.number().int().nullable(),
  expiry_year: z.number().int().nullable(),
  /** Whether the month is over until which it can be charged. */
  expired: z.boolean(),
  is_default: z.boolean(),
  status: z.enum(['saving', 'saved', 'refused']),
  /** Where the customer goes on while they are waited for: an address, or a path of this gateway; null otherwise. */
  next_url: z.string().nullable(),
  /** Why it cannot be removed now, as an error code; null where it can. */
  kept_for: z.enum(['payment_method_in_use']).nullable(),
  /** The last charge of it that was refused, or why it is not kept: when, and as an error code; null once one succeeded. */
  refused_at: timestamp.nullable(),
  refused_for: z.string().nullable(),
  created_at: timestamp,
})
z.globalRegistry.add(paymentMethod, { id: 'PaymentMethod' })
export type PaymentMethod = z.infer<typeof paymentMethod>

/** Reads that are old when what is kept to pay with changes, or what charges it by itself. */
const METHOD_READS = ['bill.payment-method', 'bill.auto-topup', 'bill.check-payable'] as const

export const listPaymentMethods = defineCall({
  operation: 'bill.payment-method',
  method: 'GET',
  path: '/api/bill/payment-method',
  summary: 'What is kept to pay with: the default first, then the newest.',
  audience: 'user',
  timeout: 'normal',
  retry: true,
  outlivesNavigation: true,
  data: z.array(paymentMethod),
})

/** Where a card is entered at the platform's own page, or its bank asks; null where nothing is asked. */
const nextUrl = z.string().nullable()

export const addPaymentMethodBody = z.object({
  platform_name: topupBody.shape.platform_name,
  /** As in `TopupBody`. */
  source: topupBody.shape.source.unwrap(),
})
z.globalRegistry.add(addPaymentMethodBody, { id: 'AddPaymentMethodBody' })

export const addPaymentMethod = defineCall({
  operation: 'bill.payment-method-add',
  method: 'POST',
  path: '/api/bill/payment-method',
  summary:
    'Keeps a card without charging it; the first is the default. One that is kept already is answered.',
  audience: 'verified',
  timeout: 'long',
  rateClass: 'card',
  audit: { target: ['data.method.id'] },
  stales: [...METHOD_READS],
  body: addPaymentMethodBody,
  data: z.object({ method: paymentMethod, next_url: nextUrl }),
})

const methodParams = z.object({ id: z.string(by('required')).max(80, by('too_long')) })

export const setPaymentMethod = defineCall({
  operation: 'bill.payment-method-set',
  method: 'PUT',
  path: '/api/bill/payment-method/{id}',
  summary: 'Makes a saved method the default. What it says of the method besides must be so.',
  audience: 'user',
  timeout: 'normal',
  audit: { target: ['params.id'] },
  stales: [...METHOD_READS],
  params: methodParams,
  body: z.object({
    /** Another one becomes the default by being made it. */
    is_default: z.literal(true, by('not_allowed')),
    platform_name: topupBody.shape.platform_name.optional(),
    source: z.string(by('wrong_type')).max(200, by('too_long')).optional(),
  }),
  data: paymentMethod,
})

export const removePaymentMethod = defineCall({
  operation: 'bill.payment-method-remove',
  method: 'DELETE',
  path: '/api/bill/payment-method/{id}',
  summary: 'Forgets a saved method, here and at the platform (R5.9).',
  audience: 'user',
  timeout: 'normal',
  audit: { target: ['params.id'] },
  stales: [...METHOD_READS],
  params: methodParams,
  data: z.object({ id: z.string() }),
})

export const beginPayment = defineCall({
  operation: 'bill.payment-intent',
  method: 'POST',
  path: '/api/bill/payment-intent',
  summary: 'Begins to pay an amount by card, or to keep a card where no amount is said.',
  audience: 'verified',
  timeout: 'long',
  spends: true,
  audit: { target: ['data.transaction_id', 'data.payment_method_id'] },
  stales: [...new Set([...topup.stales, ...METHOD_READS])],
  body: z.object({
    /** The id of a saved method, or what is entered for a new one, as `source` in `TopupBody`. */
    payment_method: topupBody.shape.source.unwrap(),
    payment_method_type: z.literal('card', by('not_allowed')),
    /** In cents. Left out: nothing is charged, the card is kept. */
    amount: topupBody.shape.amount.optional(),
    /** Left out: the wallet's. */
    currency: currency.optional(),
    /** Left out: the first that is offered. */
    platform_name: topupBody.shape.platform_name.optional(),
  }),
  data: z.object({
    /** The top-up; null where nothing is charged. */
    transaction_id: z.string().nullable(),
    /** What is kept; null where something is charged. */
    payment_method_id: z.string().nullable(),
    /** As in `TopupState`; `settled` where a card is kept, too. */
    status: z.enum(['settled', 'pending', 'processing', 'requires_action']),
    /** What a platform's own script goes on with; null where `next_url` is all that there is. */
    client_secret: z.string().nullable(),
    next_url: nextUrl,
  }),
})

/** Where the customer goes on paying. */
export const checkoutUrl = z.object({
  url: z.string(),
  /** The top-up that is paid there; null where one begins. */
  transaction_id: z.string().nullable(),
})
z.globalRegistry.add(checkoutUrl, { id: 'CheckoutUrl' })

export const getCheckoutUrl = defineCall({
  operation: 'bill.checkout-url',
  method: 'GET',
  path: '/api/bill/checkout_url',
  summary:
    'Where the customer goes on paying: the page of the newest payment that waits for them, else the page on which one begins.',
  audience: 'user',
  timeout: 'normal',
  retry: true,
  query: z.object({
    /** A top-up; left out: the newest that waits for the customer. */
    transaction_id: z.string(by('wrong_type')).max(80, by('too_long')).optional(),
  }),
  data: checkoutUrl,
})

/** Whether an account could pay now. */
export const payability = z.object({
  payable: z.boolean(),
  /** What it would be paid by; null where it could not. */
  by: z.enum(['balance', 'payment_method']).nullable(),
  /** Why not, as an error code. */
  reason: z.enum(['payment_method_required', 'card_expired']).nullable(),
})
z.globalRegistry.add(payability, { id: 'Payability' })

export const checkPayable = defineCall({
  operation: 'bill.check-payable',
  method: 'GET',
  path: '/api/bill/check-payable',
  summary:
    'Whether the account could pay now, by what is available or by what is kept to pay with, and why not.',
  audience: 'user',
  timeout: 'normal',
  retry: true,
  data: payability,
})

export const paymentMethodCalls = [
  listPaymentMethods,
  addPaymentMethod,
  setPaymentMethod,
  removePaymentMethod,
  beginPayment,
  getCheckoutUrl,
  checkPayable,
] as const
