import * as z from 'zod'
import { defineCall } from './call.ts'
import { instance } from './instances.ts'

/** What changed of a customer's instances in a moment. */
export const instancesEvent = z.object({
  /** Those that are new or changed, as they are now. */
  instances: z.array(instance),
  /** Ids of those that are gone for good. */
  gone: z.array(z.string()),
  /**
   * Whether all that was read before may be old, and is to be read again: in the first event, and where more changed
   * than is told one by one.
   */
  reread: z.boolean(),
  /** Set in the last one: the session is over, or the gateway ends and another one can be asked. */
  ended: z.enum(['session', 'gateway']).nullable(),
})
z.globalRegistry.add(instancesEvent, { id: 'InstancesEvent' })
export type InstancesEvent = z.infer<typeof instancesEvent>

export const followInstances = defineCall({
  operation: 'instance.follow',
  method: 'GET',
  path: '/api/instance/follow',
  summary:
    "What changes of the customer's instances, as it does: whoever reads the list after the first event and follows what comes misses nothing.",
  audience: 'user',
  timeout: 'normal',
  streams: true,
  data: instancesEvent,
})

/** The call that tells of changes by itself. */
export const instanceFollowCalls = [followInstances] as const
