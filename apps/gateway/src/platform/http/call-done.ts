import type { Call } from '@berth/contract/call'
import type { ErrorCode } from '@berth/contract/errors'
import type { Caller } from './handler.ts'

/** A call that is over, for whoever keeps account of them. */
export interface CallDone {
  call: Call
  /** Null where nobody is known to have made it. */
  caller: Caller | null
  /** What came in, checked; undefined where it was refused before. Holds secrets: keep nothing but ids. */
  params: unknown
  body: unknown
  /** What was answered; undefined when it was refused. Holds secrets. */
  data: unknown
  /** What it was refused with; null when it was done. */
  errorCode: ErrorCode | null
  address: string
  userAgent: string
}
