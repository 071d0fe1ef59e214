import { pageInstances } from '@berth/contract/instance-paging'
import { type Instance, listInstances } from '@berth/contract/instances'
import { INSTANCE_IDS_MAX, INSTANCE_PAGE_SIZE_MAX } from '@berth/contract/limits'
import { type QueryClient, queryOptions, replaceEqualDeep } from '@tanstack/react-query'
import type { ApiError } from './api-error.ts'
import { request } from './client.ts'

/** What changes make old under the list's own name, and what is told of instances is put there. */
const QUERY_KEY = [listInstances.operation, {}]
const FRESH_MS = 10_000

/** Lists that are not whole yet, and how many rows they will have. */
const totals = new WeakMap<readonly Instance[], number>()

/**
 * The customer's instances, newest first: read page by page, so that those of a large account are seen before the last of
 * them is there, and no answer is large. Of a small account it is one call. Instances that did not change are the same
 * objects as before.
 */
export const instancesQuery = queryOptions<Instance[], ApiError>({
  queryKey: QUERY_KEY,
  queryFn: ({ client, signal }) => readAll(client, signal),
  // Done page by page, as a row moves down with each one that is deployed.
  structuralSharing: false,
  staleTime: ({ state }) => (state.data && totals.has(state.data) ? 0 : FRESH_MS),
  meta: { outlivesNavigation: listInstances.outlivesNavigation },
})

/** How many instances there will be once all are read; null where these are all. */
export function totalOfPart(rows: readonly Instance[]): number | null {
  return totals.get(rows) ?? null
}

/** How many calls it takes to read so many instances: whoever reads them again and again does so that much less often. */
export function pagesOf(rows: readonly unknown[] | undefined): number {
  return Math.max(1, Math.ceil((rows?.length ?? 0) / INSTANCE_PAGE_SIZE_MAX))
}

async function readAll(client: QueryClient, signal: AbortSignal): Promise<Instance[]> {
  const known = client.getQueryData<Instance[]>(QUERY_KEY)
  const before = new Map(known?.map(one => [one.instance_id, one]))
  const rows: Instance[] = []
  let total: number | null = null
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const query = { limit: INSTANCE_PAGE_SIZE_MAX, ...(cursor && { cursor }) }
    const page = await request(pageInstances, { query }, { signal, silent: true })
    rows.push(...page.items.map(one => replaceEqualDeep(before.get(one.instance_id), one)))
    cursor = page.next_cursor
    total ??= page.total
    if (cursor !== null && !known) {
      const part = [...rows]
      totals.set(part, total ?? part.length)
      client.setQueryData(QUERY_KEY, part)
    }
  }
  return rows
}

/**
 * Reads some of many instances again, and puts them where all of them are.
 * @param ids Up to `INSTANCE_IDS_MAX`; what is gone by now is taken out.
 */
export async function readSome(
  client: QueryClient,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<readonly Instance[]> {
  const query = { instance_id: ids.join(','), limit: INSTANCE_IDS_MAX }
  const { items } = await request(pageInstances, { query }, { signal, silent: true })
  const news = new Map(items.map(one => [one.instance_id, one]))
  client.setQueryData<Instance[]>(QUERY_KEY, rows =>
    rows?.flatMap(one => {
      if (!ids.includes(one.instance_id)) return [one]
      const now = news.get(one.instance_id)
      return now ? [replaceEqualDeep(one, now)] : []
    }),
  )
  return items
}
