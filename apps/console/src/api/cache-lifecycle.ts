import type { ApiError } from './api-error.ts'

/** What start-up and router ask of the query cache, which pages without the shell never load. */
interface Cache {
  /** Puts the queries of the page that is left back to rest (R4.11). */
  rest: () => void
  /** Forgets everything that belongs to the customer who leaves. */
  clear: () => void
  /** Says that answers of an operation are old, and reads those again that are on the screen. */
  invalidate: (operation: string) => Promise<void>
  /** Reads again what is on the screen, whether it failed or is old. */
  resume: () => void
}

/** Reads that are kept elsewhere than in the query cache, by operation. */
const readers = new Map<string, () => Promise<unknown>>()

/** Reads that are kept at what is told, by operation, and whether it is told just now. */
const toldReads = new Map<string, () => boolean>()

let cache: Cache | null = null
let tellUnseen: (error: ApiError) => void = () => {}

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

/** Reads again what is on the screen, once the gateway can be reached again; what had failed is among it. */
export function resumeCache(): void {
  cache?.resume()
}

/**
 * Names a read that is kept elsewhere than in the query cache, such as the account by the session.
 * @param operation Of the call that reads it.
 * @param read Reads it again.
 */
export function registerReader(operation: string, read: () => Promise<unknown>): void {
  readers.set(operation, read)
}

/**
 * Names a read that a stream keeps as it is now, so that a change need not have it read again: thousands of rows for one.
 * @param operation Of the call that reads it. Every change that makes it old must be told by that stream.
 * @param isTold Whether what changes comes by itself just now.
 */
export function registerTold(operation: string, isTold: () => boolean): void {
  toldReads.set(operation, isTold)
}

/**
 * Reads again what a change made old, but for what is told by itself just now.
 * @param operations Of the calls that read it.
 * @returns As `reread`.
 */
export async function rereadUntold(operations: readonly string[]): Promise<void> {
  await reread(operations.filter(operation => toldReads.get(operation)?.() !== true))
}

/**
 * Reads again what is old, as far as it is on the screen; the rest is read when it is looked at.
 * @param operations Of the calls that read it.
 * @returns When all have their answers. It never fails: who shows a read shows why it failed.
 */
export async function reread(operations: readonly string[]): Promise<void> {
  await Promise.allSettled(
    operations.flatMap(operation => [cache?.invalidate(operation), readers.get(operation)?.()]),
  )
}

/**
 * Says what happens with a failure that nobody shows where it belongs, so that it needs a toast: a refresh behind data
 * that is on the screen, or a change whose form is gone. A first load that fails is shown in its place by the page.
 * @param handler Gets the error.
 */
export function onUnseen(handler: (error: ApiError) => void): void {
  tellUnseen = handler
}

/**
 * Called for a failure that nobody shows.
 * @param error Why.
 */
export function reportUnseen(error: ApiError): void {
  tellUnseen(error)
}
