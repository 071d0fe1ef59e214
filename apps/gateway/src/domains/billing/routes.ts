import {
  cancelTopup,
  getBalance,
  getReceipt,
  getSpend,
  getTopup,
  listOpenTopups,
  listPayPlatforms,
  listTransactions,
  topup,
} from '@berth/contract/billing'
import { type Route, route } from '../../platform/http/handler.ts'
import type { Billing } from './billing.ts'
import type { InstanceEventsReader } from './documents/receipts.ts'

/**
 * The calls on money (R7.5).
 * @param billing The domain.
 */
export function billingRoutes(
  billing: Pick<
    Billing,
    | 'balance'
    | 'payPlatforms'
    | 'topUp'
    | 'topup'
    | 'openTopups'
    | 'cancelTopup'
    | 'transactions'
    | 'receipt'
    | 'spend'
  >,
  instanceEvents: InstanceEventsReader,
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
    route(topup, ({ caller, body, idempotencyKey }) =>
      billing.topUp({
        userId: caller.userId,
        idempotencyKey,
        amountCents: body.amount,
        currency: body.currency,
        platformName: body.platform_name,
        source: body.source,
      }),
    ),
    route(listOpenTopups, ({ caller }) => billing.openTopups(caller.userId)),
    route(getTopup, ({ caller, params }) => billing.topup(caller.userId, params.id)),
    route(cancelTopup, ({ caller, params }) => billing.cancelTopup(caller.userId, params.id)),
    route(listTransactions, ({ caller, query }) => billing.transactions(caller.userId, query)),
    route(getReceipt, ({ caller, params }) => billing.receipt(caller.userId, params.id, instanceEvents)),
    route(getSpend, ({ caller, query }) => billing.spend(caller.userId, query.days)),
  ]
}
