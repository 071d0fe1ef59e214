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

/** What came to a log in a moment. */
export const logEvent = z.object({
  /** Whole lines, without colours and other controls of a terminal. */
  lines: z.array(z.string()),
  /** The line that is being written, in place of what was told of it before; empty where none is. */
  open: z.string(),
  /** How many lines before these are left out, because so many came at once. */
  skipped: z.number().int(),
  /**
   * Set in the last one: the machine writes no more for now, the session is over, or the gateway ends and another one
   * can be asked.
   */
  ended: z.enum(['machine', 'session', 'gateway']).nullable(),
})
z.globalRegistry.add(logEvent, { id: 'LogEvent' })
export type LogEvent = z.infer<typeof logEvent>

export const followInstanceLogs = defineCall({
  operation: 'instance.follow-logs',
  method: 'GET',
  path: '/api/instance/{id}/logs/follow',
  summary: 'What the start command of an instance writes: its last lines, and then what comes, as events.',
  audience: 'user',
  timeout: 'normal',
  streams: true,
  params: byId,
  data: logEvent,
})

/** The calls of the page of one instance. */
export const instancePageCalls = [getInstance, followInstanceLogs] as const
