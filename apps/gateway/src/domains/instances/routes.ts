import {
  checkResource,
  deployInstance,
  editInstance,
  getPrice,
  listInstanceEvents,
  listInstances,
  restartInstance,
  startInstance,
  stopInstance,
  terminateInstance,
} from '@berth/contract/instances'
import { type Route, route } from '../../platform/http/handler.ts'
import type { Instances } from './instances.ts'
import type { Quotes } from './offer/quotes.ts'

/**
 * The calls on instances (R7.4), but for those that connect to one.
 * @param instances The domain.
 * @param quotes Prices and preflight checks.
 */
export function instancesRoutes(instances: Instances, quotes: Pick<Quotes, 'price' | 'check'>): Route[] {
  return [
    route(deployInstance, ({ caller, idempotencyKey, body }) =>
      instances.deploy({ userId: caller.userId, idempotencyKey, body }),
    ),
    route(listInstances, ({ caller }) => instances.list(caller.userId)),
    route(editInstance, ({ caller, body }) =>
      instances.rename({ userId: caller.userId, instanceId: body.instance_id }, body.name),
    ),
    route(terminateInstance, ({ caller, params }) =>
      instances.terminate({ userId: caller.userId, instanceId: params.id }),
    ),
    route(stopInstance, ({ caller, params }) =>
      instances.stop({ userId: caller.userId, instanceId: params.id }),
    ),
    route(restartInstance, ({ caller, params }) =>
      instances.restart({ userId: caller.userId, instanceId: params.id }),
    ),
    route(startInstance, ({ caller, idempotencyKey, body }) =>
      instances.start(
        { userId: caller.userId, instanceId: body.instance_id },
        { specId: body.gpu_spec_id, gpuCount: body.gpu_count, idempotencyKey },
      ),
    ),
    route(listInstanceEvents, ({ caller, params }) =>
      instances.events({ userId: caller.userId, instanceId: params.id }),
    ),
    route(checkResource, quotes.check),
    route(getPrice, quotes.price),
  ]
}
