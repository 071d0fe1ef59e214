import { BUILD_LOG_LINES_MAX } from '@berth/contract/build-limits'
import { getBuildLog, type ImageBuildLog } from '@berth/contract/images'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { queryOf } from '../api/queries.ts'

const POLL_MS = 1_000

interface ReadLog {
  lines: readonly { at: number; line: string }[]
  /** The last line that is known. */
  next: number
}

/**
 * What the steps of an image's Dockerfile write, as it comes.
 * @param id The image.
 * @returns Its last lines with their numbers, and why none come where the last question failed.
 */
export function useBuildLog(id: string) {
  const [read, setRead] = useState<ReadLog>({ lines: [], next: 0 })
  const { data, error } = useQuery({
    ...queryOf(getBuildLog, { params: { id }, query: { after: read.next } }),
    gcTime: 0,
    refetchInterval: ({ state }) => (state.data?.more === false ? false : POLL_MS),
  })
  useEffect(() => {
    if (data) setRead(before => withMore(before, data))
  }, [data])
  return { lines: read.lines, error }
}

function withMore(before: ReadLog, { lines, next, skipped }: ImageBuildLog): ReadLog {
  if (next === before.next) return before
  const added = lines.map((line, index) => ({ at: skipped + index + 1, line }))
  // A build that was begun anew has fewer lines than the one before.
  const all = next < before.next ? added : [...before.lines, ...added]
  return { lines: all.slice(-BUILD_LOG_LINES_MAX), next }
}
