import { type LogMatch, type LogSearchEvent, searchInstanceLogs } from '@berth/contract/instance-page'
import { LOG_MATCHES_MAX } from '@berth/contract/limits'
import { useEffect, useState } from 'react'
import { ApiError } from '../../api/api-error.ts'
import { followCall } from '../../api/client.ts'

/** How far a search in all that is kept of a log has come. */
export interface LogSearch extends Omit<LogSearchEvent, 'matches'> {
  /** The last ones, in their order. */
  matches: readonly LogMatch[]
  /** Why it could not be searched; null where it could. */
  error: ApiError | null
}

const BEGUN: LogSearch = { matches: [], found: 0, lines: 0, bytes: 0, ended: null, error: null }

/**
 * Searches all that is kept of the log of an instance, once for each text.
 * @param text Null: nothing is searched.
 * @returns How far it is; null where nothing is searched.
 */
export function useLogSearch(id: string, text: string | null): LogSearch | null {
  const [search, setSearch] = useState<LogSearch>(BEGUN)
  useEffect(() => {
    if (text === null) return
    const abort = new AbortController()
    const { signal } = abort
    setSearch(BEGUN)
    const onEvent = ({ matches, ...event }: LogSearchEvent) =>
      setSearch(before => ({
        ...event,
        matches: [...before.matches, ...matches].slice(-LOG_MATCHES_MAX),
        error: null,
      }))
    followCall(searchInstanceLogs, { params: { id }, query: { text } }, { signal, onEvent }).catch(error => {
      if (signal.aborted) return
      const known = error instanceof ApiError ? error : null
      // What was found so far stays.
      setSearch(before => ({ ...before, ended: before.ended ?? 'gateway', error: known }))
    })
    return () => abort.abort()
  }, [id, text])
  return text === null ? null : search
}
