import { type FileListing, listFiles } from '@berth/contract/files'
import { useInfiniteQuery } from '@tanstack/react-query'
import type { ApiError } from '../../../api/api-error.ts'
import { request } from '../../../api/client.ts'

/**
 * What a folder of an instance holds, some hundreds at a time.
 * @param path Empty: the home of the machine's user.
 * @param enabled Whether it is looked at: to look is to use the instance.
 */
export function useFolder(instanceId: string, path: string, enabled: boolean) {
  return useInfiniteQuery<FileListing, ApiError, FileListing, readonly unknown[], number>({
    queryKey: [listFiles.operation, instanceId, path],
    queryFn: ({ pageParam, signal }) => {
      const query = { from: pageParam, ...(path !== '' && { path }) }
      return request(listFiles, { params: { id: instanceId }, query }, { signal, silent: true })
    },
    initialPageParam: 0,
    getNextPageParam: ({ next }) => next,
    select: ({ pages }) => {
      const last = pages.at(-1)
      return {
        path: last?.path ?? path,
        next: last?.next ?? null,
        entries: pages.flatMap(({ entries }) => entries),
      }
    },
    enabled,
    // Files change by themselves; to come back to the page is no reason to ask the machine.
    staleTime: 0,
    refetchOnWindowFocus: false,
    retry: false,
  })
}
