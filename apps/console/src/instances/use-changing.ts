import { pageInstances } from '@berth/contract/instance-paging'
import { CHANGING_STATUSES } from '@berth/contract/instance-states'
import type { Instance } from '@berth/contract/instances'
import { INSTANCE_IDS_MAX } from '@berth/contract/limits'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { pagesOf, readSome } from '../api/instances-query.ts'

const LOOK_MS = 1_000

/**
 * Follows what changes among instances that are too many to be read each second: as many of those under way as one call
 * asks for, and nothing else.
 * @param rows All of them. So few that one call reads them are left to whoever reads all.
 */
export function useChanging(rows: readonly Instance[]): void {
  const client = useQueryClient()
  const changing = pagesOf(rows) === 1 ? [] : rows.filter(({ status }) => CHANGING_STATUSES.includes(status))
  const ids = changing.slice(0, INSTANCE_IDS_MAX).map(({ instance_id }) => instance_id)
  useQuery({
    queryKey: [pageInstances.operation, { ids }],
    queryFn: ({ signal }) => readSome(client, ids, signal),
    enabled: ids.length > 0,
    refetchInterval: LOOK_MS,
    staleTime: 0,
    gcTime: 0,
    meta: { silent: true },
  })
}
