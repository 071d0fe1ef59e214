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
    // That it has just stopped is no failure; others are said where the ways stand.
    meta: { silent: true },
    refetchInterval: REFRESH_MS,
  })
}
