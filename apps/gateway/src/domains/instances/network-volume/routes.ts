import { attachVolume, detachVolume } from '@berth/contract/volume-attach-calls'
import { type Route, route } from '../../../platform/http/handler.ts'
import type { Instances } from '../instances.ts'

/** The calls by which instances that are there get network volumes, and give them back (R1.2). */
export function networkVolumeRoutes(instances: Pick<Instances, 'attachVolume' | 'detachVolume'>): Route[] {
  return [
    route(attachVolume, ({ caller, params, body }) =>
      instances.attachVolume(
        { userId: caller.userId, instanceId: body.instance_id },
        { id: params.id, path: body.path },
      ),
    ),
    route(detachVolume, ({ caller, params, body }) =>
      instances.detachVolume({ userId: caller.userId, instanceId: body.instance_id }, params.id),
    ),
  ]
}
