import type { CallData } from '@berth/contract/call'
import { OPEN_CREATION_STATUSES } from '@berth/contract/creation-states'
import {
  type Creation,
  type CreationFilter,
  type CreationKind,
  creationOutlook,
  getCreation,
  listCreations,
  makeImages,
} from '@berth/contract/creations'
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { ApiError } from '../api/api-error.ts'
import { reread } from '../api/cache-lifecycle.ts'
import { staleReads } from '../api/change.ts'
import { request } from '../api/client.ts'
import { queryOf } from '../api/queries.ts'
import { useSession } from '../app/session/session.ts'

/** How often what is under way is looked at. */
const LOOK_MS = 2_000
const NOT_FOUND = 404
/** Runs that are read at once. */
const RUNS_AT_ONCE = 20

type Page = CallData<typeof listCreations>

/** What a customer has made, as far as it was read. */
export interface Creations
  extends Pick<Page, 'counts' | 'currency' | 'kept_days' | 'month_cost_micro' | 'stored_bytes'> {
  runs: readonly Creation[]
  stored_bytes_max: number
}

/** What is shown of a list of runs. */
export interface CreationSearch {
  show: CreationFilter
  search: string
}

/** The customer's runs of a kind, newest first, page by page; of a guest there are none to read. */
export function useCreations(kind: CreationKind, { show, search }: CreationSearch) {
  const { user } = useSession()
  const query = { kind, show, limit: RUNS_AT_ONCE, ...(search !== '' && { search }) }
  return useInfiniteQuery<Page, ApiError, Creations, readonly unknown[], string | null>({
    queryKey: [listCreations.operation, query],
    queryFn: ({ pageParam, signal }) =>
      request(
        listCreations,
        { query: { ...query, ...(pageParam !== null && { cursor: pageParam }) } },
        { signal, silent: true },
      ),
    enabled: user !== null,
    initialPageParam: null,
    getNextPageParam: ({ next_cursor }) => next_cursor,
    select: ({ pages }) => ({
      runs: pages.flatMap(({ items }) => items),
      counts: pages[0]?.counts ?? null,
      currency: pages[0]?.currency ?? 'USD',
      kept_days: pages[0]?.kept_days ?? 0,
      month_cost_micro: pages[0]?.month_cost_micro ?? null,
      stored_bytes: pages[0]?.stored_bytes ?? 0,
      stored_bytes_max: pages[0]?.stored_bytes_max ?? 0,
    }),
    placeholderData: keepPreviousData,
    staleTime: 0,
  })
}

/**
 * What of a queue is other customers'.
 * @param before How many are before one, of all customers.
 * @param own The customer's own that are under way, before it or all of them where it is yet to begin.
 */
export function othersBefore(before: number, own: number): number {
  return Math.max(0, before - own)
}

/** Whether anything of a run is under way. */
export function isOpenRun({ items }: Creation): boolean {
  return items.some(({ status }) => OPEN_CREATION_STATUSES.includes(status))
}

/**
 * A run as it is now: while anything of it is under way it is looked at again and again, though not on a hidden tab.
 * @param run As the list has it.
 * @param lookMs How often; who looks at it elsewhere as well sees the same.
 */
export function useRunNow(run: Creation, lookMs: number = LOOK_MS): Creation {
  const isOpen = isOpenRun(run)
  const { data } = useQuery({
    ...queryOf(getCreation, { params: { id: run.id } }),
    enabled: isOpen,
    // One that is deleted is not asked for again.
    refetchInterval: ({ state: { data: known, error } }) =>
      (known && !isOpenRun(known)) || error?.status === NOT_FOUND ? false : lookMs,
    meta: { silent: true },
  })
  const isOver = isOpen && data !== undefined && !isOpenRun(data)
  useEffect(() => {
    if (isOver) void reread(staleReads(makeImages))
  }, [isOver])
  return isOpen && data ? data : run
}

/** How long a model takes, as it has lately; null as long as that is not known. */
export function useOutlook(modelId: string): CallData<typeof creationOutlook> | null {
  const { user } = useSession()
  const { data } = useQuery({
    ...queryOf(creationOutlook, { query: { model: modelId } }),
    enabled: user !== null,
    meta: { silent: true },
  })
  return data ?? null
}
