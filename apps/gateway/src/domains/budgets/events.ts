import { BUDGET_PERIODS, BUDGET_SHARES } from '@berth/contract/budgets'
import { CURRENCIES } from '@berth/contract/limits'
import * as z from 'zod'
import { defineEvent } from '../../platform/events/define-event.ts'

/** So much of a budget is spent: once for each share and period; of several that are passed at once the highest. */
export const budgetCrossed = defineEvent(
  'budget.crossed',
  z.object({
    userId: z.uuid(),
    at: z.iso.datetime(),
    share: z.literal([...BUDGET_SHARES]),
    period: z.enum(BUDGET_PERIODS),
    /** When it begins anew. */
    until: z.iso.datetime(),
    amountCents: z.int().positive(),
    spentMicro: z.string(),
    currency: z.enum(CURRENCIES),
    stops: z.boolean(),
    /** Null without a key too: it is the account's. */
    instanceName: z.string().nullable(),
    /** Left out by gateways that know of no budgets of keys. */
    keyName: z.string().nullable().default(null),
  }),
)
