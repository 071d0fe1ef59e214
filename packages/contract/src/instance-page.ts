import * as z from 'zod'
import { defineCall } from './call.ts'
import { by } from './fields.ts'
import { ticketedDownload } from './files.ts'
import { instance, instanceId } from './instances.ts'
import { LOG_SEARCH_CHARS_MAX } from './limits.ts'

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

/** A line that has what is searched for. */
export const logMatch = z.object({
  /** Its number, the first line that is kept being 1. */
  line: z.number().int(),
  /** Itself, or the part of a long one that has it. */
  text: z.string(),
  /** The lines around it, in their order. */
  before: z.array(z.string()),
  after: z.array(z.string()),
})
z.globalRegistry.add(logMatch, { id: 'LogMatch' })
export type LogMatch = z.infer<typeof logMatch>

/** How far a search in a log has come. */
export const logSearchEvent = z.object({
  /** What was found since the event before, in order: the last of it where that is much. */
  matches: z.array(logMatch),
  /** How many lines have it so far. */
  found: z.number().int(),
  /** How much was looked at so far. */
  lines: z.number().int(),
  bytes: z.number().int(),
  /**
   * Set in the last one: all that is kept was looked at, it took too long, the session is over, or the gateway ends and
   * another one can be asked.
   */
  ended: z.enum(['whole', 'time', 'session', 'gateway']).nullable(),
})
z.globalRegistry.add(logSearchEvent, { id: 'LogSearchEvent' })
export type LogSearchEvent = z.infer<typeof logSearchEvent>

export const searchInstanceLogs = defineCall({
  operation: 'instance.search-logs',
  method: 'GET',
  path: '/api/instance/{id}/logs/search',
  summary:
    'Looks for a text, whatever its case, in all that is kept of what the start command of an instance wrote, as events.',
  audience: 'user',
  timeout: 'normal',
  streams: true,
  params: byId,
  query: z.object({
    text: z.string(by('required')).min(1, by('required')).max(LOG_SEARCH_CHARS_MAX, by('too_long')),
  }),
  data: logSearchEvent,
})

export const startLogDownload = defineCall({
  operation: 'instance.download-log',
  method: 'POST',
  path: '/api/instance/{id}/logs/download',
  summary:
    'A single-use address for all that is kept of what the start command of an instance wrote, as plain text.',
  audience: 'verified',
  timeout: 'normal',
  audit: { target: ['params.id'] },
  stales: { because: 'It only reads, and what it gives opens once.' },
  params: byId,
  data: ticketedDownload,
})

/** The calls of the page of one instance. */
export const instancePageCalls = [
  getInstance,
  followInstanceLogs,
  searchInstanceLogs,
  startLogDownload,
] as const
