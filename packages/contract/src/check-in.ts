import * as z from 'zod'
import { defineCall } from './call.ts'
import { by, currency, micro, timestamp } from './fields.ts'
import { TIME_ZONE_CHARS_MAX } from './limits.ts'
import { MONEY_READS } from './money-reads.ts'

/** Whether a text names a time zone, such as `Asia/Seoul`. */
function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

/** The zone whose calendar says what a day is: that of the customer's device. */
const timeZone = z
  .string(by('required'))
  .min(1, by('required'))
  .max(TIME_ZONE_CHARS_MAX, by('too_long'))
  .refine(isTimeZone, by('not_allowed'))

/** The daily check-in: free credit for models, once a day (R1.5). */
export const checkInState = z.object({
  /** Whether this installation gives any. */
  offered: z.boolean(),
  /** What one gives. */
  amount_micro: micro,
  currency,
  /** For how many days the credit is there. */
  credit_days: z.number().int(),
  /** Whether it was done today. */
  done: z.boolean(),
  /** Days in a row up to the last one; 0 where one was missed. */
  streak: z.number().int(),
  /** From when on it can be done again; null where it can be done now. */
  next_at: timestamp.nullable(),
})
z.globalRegistry.add(checkInState, { id: 'CheckInState' })
export type CheckInState = z.infer<typeof checkInState>

export const getCheckIn = defineCall({
  operation: 'check_in.get',
  method: 'GET',
  path: '/api/check-in',
  summary: 'Whether the free credit of today was taken, and when there is the next one.',
  audience: 'user',
  timeout: 'fast',
  retry: true,
  query: z.object({ time_zone: timeZone.default('UTC') }),
  data: checkInState,
})

export const checkIn = defineCall({
  operation: 'check_in.take',
  method: 'POST',
  path: '/api/check-in',
  summary: 'Takes the free credit of today, for models alone: once for each account and day.',
  audience: 'verified',
  timeout: 'normal',
  audit: { because: 'It is seen among the credits, with the moment when it was taken.' },
  stales: ['check_in.get', ...MONEY_READS],
  body: z.object({ time_zone: timeZone }),
  data: checkInState,
})

export const checkInCalls = [getCheckIn, checkIn] as const
