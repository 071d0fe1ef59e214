import type { CallData } from '@berth/contract/call'
import { type LoggedCall, listSessionLog } from '@berth/contract/session-log'
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import type { ApiError } from '../../api/api-error.ts'
import { request } from '../../api/client.ts'
import type { queryOfSearch } from './log-search.ts'

type LogPage = CallData<typeof listSessionLog>

/** What is read of the log so far. */
interface SeenLog extends Pick<LogPage, 'currency' | 'totals'> {
  items: LoggedCall[]
}

/** The log as far as it was read, page by page. @param query What it is narrowed by. */
export function useSessionLog(query: ReturnType<typeof queryOfSearch>) {
  return useInfiniteQuery<LogPage, ApiError, SeenLog, readonly unknown[], string | null>({
    queryKey: [listSessionLog.operation, query],
    queryFn: ({ pageParam, signal }) =>
      request(
        listSessionLog,
        { query: { ...query, ...(pageParam !== null && { cursor: pageParam }) } },
        { signal, silent: true },
      ),
    initialPageParam: null,
    getNextPageParam: ({ next_cursor }) => next_cursor,
    select: ({ pages }) => ({
      items: pages.flatMap(({ items }) => items),
      totals: pages[0]?.totals ?? null,
      currency: pages[0]?.currency ?? 'USD',
    }),
    placeholderData: keepPreviousData,
    // Whoever opens the log wants to see what was called a moment ago.
    staleTime: 0,
  })
}
