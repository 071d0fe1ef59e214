import type { ApiError } from './api-error.ts'

/** What start-up and router ask of the query cache, which pages without the shell never load. */
interface Cache {
  /** Puts the queries of the page that is left back to rest (R4.11). */
  rest: () => void
  /** Forgets everything that belongs to the customer who leaves. */
  clear: () => void
}

let cache: Cache | null = null
let onStale: (error: ApiError) => void = () => {}

/**
 * Called by the query cache when its code is loaded.
 * @param loaded See Cache.
 */
export function registerCache(loaded: Cache): void {
  cache = loaded
}

/** Puts the queries of the page that is left back to rest, before their requests are aborted (R4.11). */
export function restCache(): void {
  cache?.rest()
}

/** Forgets everything that was fetched for the customer who leaves. */
export function clearCache(): void {
  cache?.clear()
}

/**
 * Says what happens when a refresh fails behind data that is on the screen: the page keeps showing it, so the
 * failure needs a toast. A first load that fails is shown in its place by the page itself.
 * @param handler Gets the error.
 */
export function onStaleData(handler: (error: ApiError) => void): void {
  onStale = handler
}

/**
 * Called by the query cache for a refresh that failed.
 * @param error Why.
 */
export function reportStaleData(error: ApiError): void {
  onStale(error)
}
