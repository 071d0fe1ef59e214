import { bindPublicIp, getPublicIpPrice, unbindPublicIp } from '@berth/contract/public-ip-calls'
import { type Route, route } from '../../../platform/http/handler.ts'
import type { Instances } from '../instances.ts'

/** The calls on addresses that instances have for themselves (R7.4). */
export function publicIpRoutes(
  instances: Pick<Instances, 'bindPublicIp' | 'unbindPublicIp' | 'publicIpPrice'>,
): Route[] {
  return [
    route(getPublicIpPrice, ({ caller, query }) => instances.publicIpPrice(caller.userId, query.region_code)),
    route(bindPublicIp, ({ caller, body, idempotencyKey }) =>
      instances.bindPublicIp(
        { userId: caller.userId, instanceId: body.instance_id },
        { regionCode: body.region_code, priceMicro: body.price_micro, idempotencyKey },
      ),
    ),
    route(unbindPublicIp, ({ caller, params }) =>
      instances.unbindPublicIp({ userId: caller.userId, id: params.id }),
    ),
  ]
}
