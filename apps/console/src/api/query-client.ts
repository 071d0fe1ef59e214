import { QueryCache, QueryClient } from '@tanstack/react-query'
import i18next from 'i18next'
import { ApiError } from './api-error.ts'
import { registerCache, reportUnseen } from './cache-lifecycle.ts'
import { connection } from './connection.ts'

/** The one query client. The request layer retries where the contract allows it, so nothing is retried here. */
export const queryClient = new QueryClient({
  queryCache: new QueryCache({
    onError(error, query) {
      if (query.meta?.silent === true || query.state.data === undefined) return
      // The line over the page says it of everything at once.
      if (connection.lostSince() !== null) return
      if (error instanceof ApiError && error.code !== 'cancelled') reportUnseen(error)
    },
  }),
  defaultOptions: {
    queries: { retry: false, staleTime: 10_000, gcTime: 5 * 60_000, networkMode: 'always' },
    mutations: { retry: false, networkMode: 'always' },
  },
})

// Answers have texts in them too, such as the catalogue's.
i18next.on('languageChanged', () => void queryClient.invalidateQueries())

registerCache({
  // A query that is cancelled this way keeps its data and shows no error.
  rest: () => void queryClient.cancelQueries({ predicate: ({ meta }) => meta?.outlivesNavigation !== true }),
  clear: () => queryClient.clear(),
  resume: () => void queryClient.invalidateQueries(),
  invalidate: operation => queryClient.invalidateQueries({ queryKey: [operation] }),
})
