import type { ReactNode } from 'react'
import { ErrorState } from './ErrorState.tsx'
import { SkeletonRows } from './SkeletonRows.tsx'
import { StaleNote } from './StaleNote.tsx'

/** What is shown of a query as long as it failed; what `useQuery` returns fits. */
export interface Asked {
  /** Why the last look failed; the id of its request, which support finds in the log. */
  error: { message: string; requestId: string | null } | null
  refetch: () => unknown
  /** When the answer came, in milliseconds since 1970. */
  dataUpdatedAt: number
}

interface AnswerProps<Data> {
  query: Asked
  /** Undefined while nothing is known. */
  data: Data | undefined
  /** Rows of the placeholder: as many as there will most likely be. */
  rows: number
  children: (data: Data) => ReactNode
}

/**
 * What a query answered, in whichever state it is: not there yet, failed with a way to try again, or there. An answer
 * stays while a later look fails, and says of when it is.
 */
export function Answer<Data>({ query, data, rows, children }: AnswerProps<Data>) {
  const { error, dataUpdatedAt } = query
  const retry = () => void query.refetch()
  if (data === undefined) {
    if (!error) return <SkeletonRows rows={rows} />
    return <ErrorState message={error.message} requestId={error.requestId} onRetry={retry} />
  }
  return (
    <>
      {error && <StaleNote since={dataUpdatedAt} onRetry={retry} />}
      {children(data)}
    </>
  )
}
