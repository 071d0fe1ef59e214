import * as z from 'zod'
import { defineCall } from './call.ts'
import { by, currency, micro, timestamp } from './fields.ts'
import { CURSOR_CHARS_MAX, MODEL_ID_CHARS_MAX, PAGE_SIZE_MAX } from './limits.ts'

/** Why a call of a model failed: no server answered, one refused what was asked, or the answer broke off. */
export const CALL_ERRORS = ['not_answered', 'refused', 'broke_off'] as const

/**
 * What became of a call: it runs, was answered, its caller left before the end, it failed, or its gateway ended before it
 * did, so that nothing was charged.
 */
export const CALL_STATUSES = ['running', 'done', 'left', 'failed', 'lost'] as const
export type CallStatus = (typeof CALL_STATUSES)[number]

/** How a call was made: with a key, or from the console. */
export const CALL_SOURCES = ['api', 'console'] as const
export type CallSource = (typeof CALL_SOURCES)[number]

const PAGE_DEFAULT = 50

/** A call of a model, as the log of sessions has it (R1.5). What was asked and answered stands elsewhere, where it is kept. */
export const loggedCall = z.object({
  id: z.string(),
  model_id: z.string(),
  /** As the catalogue calls it now; its id where the catalogue has it no more. */
  model_name: z.string(),
  source: z.enum(CALL_SOURCES),
  /** Null where it was made from the console. */
  key_id: z.string().nullable(),
  /** Null as well where the key is gone. */
  key_name: z.string().nullable(),
  streamed: z.boolean(),
  status: z.enum(CALL_STATUSES),
  /** Why it failed; null where it did not, and of calls that are older than these reasons. */
  error_code: z.enum(CALL_ERRORS).nullable(),
  started_at: timestamp,
  /** From its beginning to its end; null while it runs. */
  latency_ms: z.number().int().nullable(),
  /** From its beginning to the first piece of its answer; null where none came. */
  first_token_ms: z.number().int().nullable(),
  input_tokens: z.number().int(),
  /** Of those, what the server had in its cache. */
  cached_tokens: z.number().int(),
  output_tokens: z.number().int(),
  /** Pictures that were made. */
  images: z.number().int(),
  /** Seconds of video that were made. */
  video_seconds: z.number().int(),
  /** Whether tokens are an estimate: whoever answered never said how many they were. */
  estimated: z.boolean(),
  cost_micro: micro,
  /** Whether what was asked and answered is kept, and can be read by `model.call-body`. */
  kept: z.boolean(),
})
z.globalRegistry.add(loggedCall, { id: 'LoggedCall' })
export type LoggedCall = z.infer<typeof loggedCall>

/** What all calls that a filter lets through come to. */
export const callTotals = z.object({
  calls: z.number().int(),
  /** Of those, what failed or was lost. */
  failed: z.number().int(),
  input_tokens: z.number().int(),
  cached_tokens: z.number().int(),
  output_tokens: z.number().int(),
  images: z.number().int(),
  video_seconds: z.number().int(),
  cost_micro: micro,
})
z.globalRegistry.add(callTotals, { id: 'CallTotals' })
export type CallTotals = z.infer<typeof callTotals>

/** A moment of this millennium. */
const moment = z.iso.datetime(by('not_allowed')).regex(/^2/, by('not_allowed'))

/** What calls are narrowed by, in the list, its totals and its file alike. */
const filters = {
  model: z.string(by('wrong_type')).min(1, by('required')).max(MODEL_ID_CHARS_MAX, by('too_long')).optional(),
  /** The id of a key. */
  key: z.uuid(by('not_allowed')).optional(),
  status: z.enum(CALL_STATUSES, by('not_allowed')).optional(),
  source: z.enum(CALL_SOURCES, by('not_allowed')).optional(),
  /** The first moment of a period, and the first one after it. */
  from: moment.optional(),
  until: moment.optional(),
}

export const listSessionLog = defineCall({
  operation: 'model.session-log',
  method: 'GET',
  path: '/api/model-verse/session-log',
  summary:
    "The customer's calls of models, newest first. The next page begins at `next_cursor`, asked for with the same filters.",
  audience: 'user',
  timeout: 'normal',
  retry: true,
  query: z.object({
    ...filters,
    /** `next_cursor` of the page before; left out: the first page. */
    cursor: z.string(by('wrong_type')).max(CURSOR_CHARS_MAX, by('too_long')).optional(),
    limit: z.coerce
      .number(by('not_a_number'))
      .int(by('not_whole'))
      .min(1, by('too_small'))
      .max(PAGE_SIZE_MAX, by('too_large'))
      .default(PAGE_DEFAULT),
  }),
  data: z.object({
    items: z.array(loggedCall),
    /** Null on the last page. */
    next_cursor: z.string().nullable(),
    /** As the first page was read; null on later ones. */
    totals: callTotals.nullable(),
    currency,
  }),
})

export const downloadSessionLog = defineCall({
  operation: 'model.session-log-download',
  method: 'GET',
  path: '/api/model-verse/session-log/download',
  summary:
    'Calls of models as CSV, newest first: the rows of the list with the same filters. The head is in the language of the request.',
  audience: 'user',
  timeout: 'download',
  retry: true,
  file: 'text/csv',
  query: z.object(filters),
  data: z.string(),
})

export const sessionLogCalls = [listSessionLog, downloadSessionLog] as const
