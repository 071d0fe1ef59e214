import * as z from 'zod'
import { defineCall } from './call.ts'
import { by, centsBetween, currency, micro, timestamp } from './fields.ts'
import { instanceId } from './instances.ts'
import { BUDGET_CENTS_MAX } from './limits.ts'

/** How long a budget is for before it begins anew: a day or a month of UTC. */
export const BUDGET_PERIODS = ['day', 'month'] as const
export type BudgetPeriod = (typeof BUDGET_PERIODS)[number]

/** Percent of a budget at which its customer is warned, once for each in a period (B16). */
export const BUDGET_SHARES = [50, 80, 100] as const
export type BudgetShare = (typeof BUDGET_SHARES)[number]

/** What the account, one of its instances or one of its API keys is meant to cost in a day or a month (B16). */
export const budget = z.object({
  id: z.string(),
  /** The instance that it is for; null without a key too: all that the account spends. */
  instance_id: z.string().nullable(),
  instance_name: z.string().nullable(),
  /** The API key that it is for. */
  key_id: z.string().nullable(),
  key_name: z.string().nullable(),
  period: z.enum(BUDGET_PERIODS),
  /** In cents. */
  amount: z.number().int().min(1),
  currency,
  /**
   * Whether what it covers is stopped at 100 %, and not started before there is room again; of a key, whether calls that
   * may cost more than what is left are refused. Else it only warns.
   */
  stops: z.boolean(),
  /** What bills say of this period so far, with what is due since the last posting; of a key what its calls have cost. */
  spent_micro: micro,
  /** The period that runs now. */
  since: timestamp,
  until: timestamp,
  created_at: timestamp,
})
z.globalRegistry.add(budget, { id: 'Budget' })
export type Budget = z.infer<typeof budget>

const period = z.enum(BUDGET_PERIODS, by('not_allowed'))
const amount = centsBetween(1, BUDGET_CENTS_MAX)
const stops = z.boolean(by('wrong_type'))
const id = z.object({ id: z.uuid(by('not_allowed')) })

export const listBudgets = defineCall({
  operation: 'bill.budgets',
  method: 'GET',
  path: '/api/bill/budget',
  summary:
    "The account's own budgets, then those of its instances and of its API keys, each with what was spent of it so far.",
  audience: 'user',
  timeout: 'normal',
  retry: true,
  data: z.array(budget),
})

/** What the form of a new budget sends. */
export const addBudgetBody = z.object({
  /** Null without a key too: for all that the account spends. */
  instance_id: instanceId.nullable().default(null),
  /** An API key, where no instance is named. */
  key_id: z.uuid(by('not_allowed')).nullable().default(null),
  period,
  amount,
  stops,
})
z.globalRegistry.add(addBudgetBody, { id: 'AddBudgetBody' })
export type AddBudgetBody = z.output<typeof addBudgetBody>

export const addBudget = defineCall({
  operation: 'bill.add-budget',
  method: 'POST',
  path: '/api/bill/budget',
  summary:
    'Sets a budget for the account, one of its instances or an API key: one by day and one by month for each; a key has one, by day or by month.',
  audience: 'verified',
  timeout: 'normal',
  audit: { target: ['body.instance_id', 'body.key_id', 'data.id'] },
  stales: ['bill.budgets', 'api_key.list', 'instance.check-resource'],
  body: addBudgetBody,
  data: budget,
})

/** What the form of a budget that is there sends. */
export const editBudgetBody = z.object({ period, amount, stops })
z.globalRegistry.add(editBudgetBody, { id: 'EditBudgetBody' })
export type EditBudgetBody = z.output<typeof editBudgetBody>

export const editBudget = defineCall({
  operation: 'bill.edit-budget',
  method: 'PUT',
  path: '/api/bill/budget/{id}',
  summary: 'Changes a budget. What was mailed of a lower share is not mailed again.',
  audience: 'verified',
  timeout: 'normal',
  audit: { target: ['params.id'] },
  stales: ['bill.budgets', 'api_key.list', 'instance.check-resource'],
  params: id,
  body: editBudgetBody,
  data: budget,
})

export const removeBudget = defineCall({
  operation: 'bill.remove-budget',
  method: 'DELETE',
  path: '/api/bill/budget/{id}',
  summary: 'Removes a budget; what it has stopped can be started again.',
  audience: 'user',
  timeout: 'normal',
  audit: { target: ['params.id'] },
  stales: ['bill.budgets', 'api_key.list', 'instance.check-resource'],
  params: id,
  data: z.null(),
})

export const budgetCalls = [listBudgets, addBudget, editBudget, removeBudget] as const
