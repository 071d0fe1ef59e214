import * as z from 'zod'
import { defineCall } from './call.ts'
import { CHARGE_CYCLES } from './charge-terms.ts'
import { by, micro, timestamp } from './fields.ts'
import { instanceChange, instanceId, priceMicro, WHAT_RUNS } from './instances.ts'

const chargeCycle = z.enum(CHARGE_CYCLES, by('not_allowed'))

/** What may be done about how an instance is paid for: the next term bought now, or another way of paying taken. */
export const BILLING_CHANGES = ['renew', 'subscribe', 'convert'] as const
export type BillingChange = (typeof BILLING_CHANGES)[number]

/** What a change of how an instance is paid for would cost now, and give back. */
export const billingPreview = z.object({
  currency: z.string(),
  billing_type: z.enum(['postpay', 'prepay']),
  charge_cycle: z.enum(CHARGE_CYCLES).nullable(),
  /** The price that the change is confirmed with: of a term, or of an hour on demand. */
  price_micro: micro,
  /** Taken at once for a term; nothing on demand. */
  cost_micro: micro,
  /** Given back of terms that end early, if it were done now: what was paid, less what the time used costs on demand. */
  back_micro: micro,
  /** Set aside on demand while it runs: the first hour. */
  reserve_micro: micro,
  /** When what is paid for would end; null on demand. */
  expiry_time: timestamp.nullable(),
  /** Why it would be refused now, as an error code; null where it would not be. */
  refused: z.string().nullable(),
})
z.globalRegistry.add(billingPreview, { id: 'BillingPreview' })
export type BillingPreview = z.infer<typeof billingPreview>

export const previewBilling = defineCall({
  operation: 'instance.billing-preview',
  method: 'GET',
  path: '/api/instance/{id}/billing-preview',
  summary: 'What a renewal, a switch to a subscription, or another charge type would cost or give back now.',
  audience: 'user',
  timeout: 'normal',
  retry: true,
  params: z.object({ id: instanceId }),
  query: z.object({
    change: z.enum(BILLING_CHANGES, by('not_allowed')),
    /** The cycle that is wanted; left out: on demand, or for a renewal the cycle that it has. */
    charge_cycle: chargeCycle.optional(),
  }),
  data: billingPreview,
})

export const renewInstance = defineCall({
  operation: 'instance.renew',
  method: 'POST',
  path: '/api/instance/renew',
  summary: 'Buys the next term of a prepaid instance now: it begins when the one under way ends.',
  audience: 'verified',
  timeout: 'normal',
  spends: true,
  audit: { target: ['body.instance_id'] },
  stales: WHAT_RUNS,
  body: z.object({ instance_id: instanceId, price_micro: priceMicro }),
  data: instanceChange,
})

export const toggleRenewal = defineCall({
  operation: 'instance.toggle-renewal',
  method: 'POST',
  path: '/api/instance/toggle-renewal',
  summary: 'Says whether a prepaid instance is renewed when its term is over, or released.',
  audience: 'verified',
  timeout: 'normal',
  audit: { target: ['body.instance_id'] },
  stales: [
    'instance.list',
    'instance.page',
    'instance.get',
    'instance.setup',
    'instance.events',
    'bill.transaction-receipt',
  ],
  body: z.object({ instance_id: instanceId, auto_renew: z.boolean(by('wrong_type')) }),
  data: instanceChange,
})

export const toggleSubscription = defineCall({
  operation: 'instance.toggle-subscription',
  method: 'POST',
  path: '/api/instance/toggle-subscription',
  summary: 'Switches an instance that runs on demand to terms paid in advance: the first one begins at once.',
  audience: 'verified',
  timeout: 'normal',
  spends: true,
  audit: { target: ['body.instance_id'] },
  stales: WHAT_RUNS,
  body: z.object({
    instance_id: instanceId,
    charge_cycle: chargeCycle,
    auto_renew: z.boolean(by('wrong_type')).default(true),
    price_micro: priceMicro,
  }),
  data: instanceChange,
})

export const convertChargeType = defineCall({
  operation: 'instance.convert-charge-type',
  method: 'POST',
  path: '/api/instance/convert-charge-type',
  summary:
    'Takes a prepaid instance back on demand, or to terms of another length. What is left of its term is given back.',
  audience: 'verified',
  timeout: 'normal',
  spends: true,
  audit: { target: ['body.instance_id'] },
  stales: WHAT_RUNS,
  body: z.object({
    instance_id: instanceId,
    /** Null: on demand. */
    charge_cycle: chargeCycle.nullable(),
    price_micro: priceMicro,
  }),
  data: instanceChange,
})

export const instanceTermCalls = [
  previewBilling,
  renewInstance,
  toggleRenewal,
  toggleSubscription,
  convertChargeType,
] as const
