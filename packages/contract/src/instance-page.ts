import * as z from 'zod'
import { defineCall } from './call.ts'
import { instance, instanceId } from './instances.ts'

const byId = z.object({ id: instanceId })

export const getInstance = defineCall({
  operation: 'instance.get',
  method: 'GET',
  path: '/api/instance/{id}',
  summary: 'One of the customer’s instances.',
  audience: 'user',
  timeout: 'normal',
  retry: true,
  params: byId,
  data: instance,
})

/** The calls of the page of one instance. */
export const instancePageCalls = [getInstance] as const
