import { CHANGING_STATUSES } from '@berth/contract/instance-states'
import { type Instance, listInstanceEvents } from '@berth/contract/instances'
import { useQuery } from '@tanstack/react-query'
import { queryOf } from '../api/queries.ts'
import { useIsLive } from './live/use-live-instances.ts'

/** While something changes, its events come by the second, unless the page hears of them by itself. */
const REFRESH_CHANGING_MS = 2_000
const REFRESH_RESTING_MS = 15_000

/**
 * What happened to an instance, newest first, asked for again and again.
 * @param enabled False while nobody looks.
 */
export function useEvents({ instance_id, status }: Instance, enabled = true) {
  const isLive = useIsLive()
  const changes = !isLive && CHANGING_STATUSES.includes(status)
  return useQuery({
    ...queryOf(listInstanceEvents, { params: { id: instance_id } }),
    enabled,
    staleTime: 0,
    refetchInterval: changes ? REFRESH_CHANGING_MS : REFRESH_RESTING_MS,
  })
}
