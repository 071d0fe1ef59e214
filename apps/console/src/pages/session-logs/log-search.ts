import type { CallInput } from '@berth/contract/call'
import { MODEL_ID_CHARS_MAX } from '@berth/contract/limits'
import { CALL_SOURCES, CALL_STATUSES, type downloadSessionLog } from '@berth/contract/session-log'
import * as z from 'zod'
import { dayText, periodOf } from '../../lists/period.ts'

const KEY_ID = /^(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})?$/

/** What the page keeps in its address; empty texts narrow nothing. */
export const logSearch = z.object({
  model: z.string().max(MODEL_ID_CHARS_MAX).catch(''),
  key: z.string().regex(KEY_ID).catch(''),
  status: z.enum(['', ...CALL_STATUSES]).catch(''),
  source: z.enum(['', ...CALL_SOURCES]).catch(''),
  from: dayText,
  to: dayText,
})
export type LogSearch = z.infer<typeof logSearch>

/** What the gateway is asked, for the list and for the file. */
export function queryOfSearch({ model, key, status, source, from, to }: LogSearch) {
  return {
    ...(model && { model }),
    ...(key && { key }),
    ...(status && { status }),
    ...(source && { source }),
    ...periodOf({ from, to }),
  } satisfies CallInput<typeof downloadSessionLog>['query']
}
