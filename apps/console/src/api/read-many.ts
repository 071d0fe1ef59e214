import type { CallData, CallInput, ReadingCall } from '@berth/contract/call'
import { ApiError } from './api-error.ts'
import { MEETS_ALL } from './change-many.ts'
import { request } from './client.ts'

/** What a reading of one of many gave: its data, or why there is none. */
export type Read<Data> = { key: string; data: Data } | { key: string; error: ApiError }

/** As many as a browser sends to one host anyway, with some left for the page. */
const AT_ONCE = 4

/**
 * Reads the same of many things, a few at a time. One that is refused keeps nothing from the others.
 * @param reads Each with a key that tells it from the others.
 * @returns What came of each, in their order.
 * @throws ApiError what the others would meet too, such as `network`, or `cancelled`.
 */
export async function readMany<C extends ReadingCall>(
  call: C,
  reads: readonly { key: string; input: CallInput<C> }[],
  signal: AbortSignal,
): Promise<Read<CallData<C>>[]> {
  const outcomes = new Map<string, Read<CallData<C>>>()
  const waiting = reads.values()
  async function work(): Promise<void> {
    for (const { key, input } of waiting) {
      try {
        outcomes.set(key, { key, data: await request(call, input, { signal, silent: true }) })
      } catch (error) {
        if (!(error instanceof ApiError) || signal.aborted || MEETS_ALL.includes(error.code)) throw error
        outcomes.set(key, { key, error })
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return reads.flatMap(({ key }) => outcomes.get(key) ?? [])
}
