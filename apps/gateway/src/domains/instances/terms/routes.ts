import {
  convertChargeType,
  previewBilling,
  renewInstance,
  toggleRenewal,
  toggleSubscription,
} from '@berth/contract/instance-terms'
import { type Route, route } from '../../../platform/http/handler.ts'
import type { Instances } from '../instances.ts'

/** The calls on how an instance is paid for (R7.4). */
export function termRoutes(
  instances: Pick<Instances, 'changePaying' | 'toggleRenewal' | 'previewBilling'>,
): Route[] {
  return [
    route(previewBilling, ({ caller, params, query }) =>
      instances.previewBilling(
        { userId: caller.userId, instanceId: params.id },
        { change: query.change, cycle: query.charge_cycle ?? null },
      ),
    ),
    route(renewInstance, ({ caller, idempotencyKey, body }) =>
      instances.changePaying(
        { userId: caller.userId, instanceId: body.instance_id },
        { change: 'renew', cycle: null, priceMicro: body.price_micro, idempotencyKey },
      ),
    ),
    route(toggleRenewal, ({ caller, body }) =>
      instances.toggleRenewal({ userId: caller.userId, instanceId: body.instance_id }, body.auto_renew),
    ),
    route(toggleSubscription, ({ caller, idempotencyKey, body }) =>
      instances.changePaying(
        { userId: caller.userId, instanceId: body.instance_id },
        {
          change: 'subscribe',
          cycle: body.charge_cycle,
          priceMicro: body.price_micro,
          autoRenew: body.auto_renew,
          idempotencyKey,
        },
      ),
    ),
    route(convertChargeType, ({ caller, idempotencyKey, body }) =>
      instances.changePaying(
        { userId: caller.userId, instanceId: body.instance_id },
        { change: 'convert', cycle: body.charge_cycle, priceMicro: body.price_micro, idempotencyKey },
      ),
    ),
  ]
}
