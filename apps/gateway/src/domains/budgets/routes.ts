import { addBudget, editBudget, listBudgets, removeBudget } from '@berth/contract/budgets'
import { type Route, route } from '../../platform/http/handler.ts'
import type { Budgets } from './budgets.ts'

/** The calls on budgets (B16). @param budgets The domain. */
export function budgetsRoutes(budgets: Pick<Budgets, 'list' | 'add' | 'edit' | 'remove'>): Route[] {
  return [
    route(listBudgets, ({ caller }) => budgets.list(caller.userId)),
    route(addBudget, ({ caller, body }) => budgets.add(caller.userId, body)),
    route(editBudget, ({ caller, params, body }) => budgets.edit(caller.userId, params.id, body)),
    route(removeBudget, async ({ caller, params }) => {
      await budgets.remove(caller.userId, params.id)
      return null
    }),
  ]
}
