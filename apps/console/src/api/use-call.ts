import type { Call, CallData, CallInput, ReadingCall } from '@berth/contract/call'
import { useCallback, useEffect, useState } from 'react'
import { ApiError } from './api-error.ts'
import { request } from './client.ts'
import { whenBack } from './connection.ts'

/** A reading call without a cache. `data` and `error` are both null while it is under way. */
export interface CallState<C extends Call> {
  data: CallData<C> | null
  error: ApiError | null
  retry: () => void
}

/**
 * Reads, for pages outside the shell: they must stay light, so they do without the query cache. Inside the
 * shell use `useQuery(queryOf(…))`. What was read stays until the next answer, and what
 * failed is asked for again once the gateway can be reached again.
 * @param call A call that only reads.
 * @param input Define it at module level: a new object asks again.
 */
export function useCall<C extends ReadingCall>(call: C, input: CallInput<C>): CallState<C> {
  const [state, setState] = useState<Pick<CallState<C>, 'data' | 'error'>>({ data: null, error: null })
  const [tries, setTries] = useState(0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: `tries` asks again.
  useEffect(() => {
    const abort = new AbortController()
    request(call, input, { signal: abort.signal, silent: true }).then(
      data => setState({ data, error: null }),
      error => {
        if (error instanceof ApiError && !abort.signal.aborted) setState({ data: null, error })
      },
    )
    return () => abort.abort()
  }, [call, input, tries])
  const { error } = state
  useEffect(() => (error ? whenBack(() => setTries(count => count + 1)) : undefined), [error])
  return { ...state, retry: useCallback(() => setTries(count => count + 1), []) }
}
