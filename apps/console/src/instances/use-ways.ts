import { getConnection } from '@berth/contract/instances'
import { useQuery } from '@tanstack/react-query'
import { queryOf } from '../api/queries.ts'

/** A service that is just starting is seen soon after it listens. */
const REFRESH_MS = 3_000

/**
 * The ways into an instance, asked for again and again.
 * @param enabled False while nobody looks, or it does not run.
 */
export function useWays(id: string, enabled: boolean) {
  return useQuery({
    ...queryOf(getConnection, { params: { id } }),
    enabled,
    staleTime: 0,
    refetchInterval: REFRESH_MS,
  })
}
