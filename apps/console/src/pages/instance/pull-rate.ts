import { useEffect, useState } from 'react'

/** How much of a pull had come when. */
export interface PullSample {
  atMs: number
  bytes: number
}

/** A rate over less than this jumps with every layer. */
const WINDOW_MS = 10_000
const SAMPLES_MAX = 30

/**
 * Adds a look at a pull to those before it.
 * @returns Those of the last seconds; a pull that begins anew begins with itself.
 */
export function withSample(samples: readonly PullSample[], next: PullSample): readonly PullSample[] {
  const last = samples.at(-1)
  if (last && next.bytes < last.bytes) return [next]
  const recent = samples.filter(({ atMs }) => atMs >= next.atMs - WINDOW_MS)
  return [...recent, next].slice(-SAMPLES_MAX)
}

/**
 * How fast a pull goes, in bytes a second.
 * @returns Null before there are two looks at it.
 */
export function rateOf(samples: readonly PullSample[]): number | null {
  const [first] = samples
  const last = samples.at(-1)
  if (!first || !last || last.atMs <= first.atMs) return null
  return ((last.bytes - first.bytes) * 1_000) / (last.atMs - first.atMs)
}

/**
 * Follows a pull.
 * @param bytes What has come; null while nothing is pulled.
 * @param seenAtMs When that was seen: a pull that stands still is seen too.
 * @returns Bytes a second, or null while that cannot be said.
 */
export function usePullRate(bytes: number | null, seenAtMs: number): number | null {
  const [samples, setSamples] = useState<readonly PullSample[]>([])
  useEffect(() => {
    setSamples(before => (bytes === null ? [] : withSample(before, { atMs: seenAtMs, bytes })))
  }, [bytes, seenAtMs])
  return rateOf(samples)
}
