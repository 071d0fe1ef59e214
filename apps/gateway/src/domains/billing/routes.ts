import {
  getBalance,
  getReceipt,
  getSpend,
  listPayPlatforms,
  listTransactions,
  topup,
} from '@berth/contract/billing'
import { ApiError } from '../../platform/http/api-error.ts'
import { type Route, route } from '../../platform/http/handler.ts'
import type { Billing } from './billing.ts'

/**
 * The calls on money (R7.5).
 * @param billing The domain.
 */
export function billingRoutes(
  billing: Pick<Billing, 'balance' | 'payPlatforms' | 'topUp' | 'transactions' | 'receipt' | 'spend'>,
): Route[] {
  return [
    route(getBalance, ({ caller }) => billing.balance(caller.userId)),
    route(listPayPlatforms, async () =>
      billing.payPlatforms.map(({ name, display_name, test, currencies }) => ({
        platform_name: name,
        display_name,
        test,
        currencies: [...currencies],
      })),
    ),
    route(topup, ({ caller, body, idempotencyKey }) => {
      if (idempotencyKey === null) throw new ApiError('idempotency_key_required')
      return billing.topUp({
        userId: caller.userId,
        idempotencyKey,
        amountCents: body.amount,
        currency: body.currency,
        platformName: body.platform_name,
        source: body.source,
      })
    }),
    route(listTransactions, ({ caller, query }) => billing.transactions(caller.userId, query)),
    route(getReceipt, ({ caller, params }) => billing.receipt(caller.userId, params.id)),
    route(getSpend, ({ caller, query }) => billing.spend(caller.userId, query.days)),
  ]
}
