import { type ComponentType, type LazyExoticComponent, lazy } from 'react'
import { loadPage } from './load-page.ts'

/** Where a browser cannot say that it is idle, it is given this long. */
const IDLE_GUESS_MS = 200

/**
 * Makes what fetches parts of pages ahead of their use.
 * @param whenIdle Calls once the browser has nothing better to do.
 */
export function createParts(whenIdle: (work: () => void) => void) {
  const waiting: (() => Promise<unknown>)[] = []
  let isFetching = false
  let mayFetch = false

  function fetchNext(): void {
    if (!mayFetch || isFetching) return
    const load = waiting.shift()
    if (!load) return
    isFetching = true
    whenIdle(async () => {
      // Where it is lost it is asked for again when it is drawn.
      await load().catch(() => undefined)
      isFetching = false
      fetchNext()
    })
  }

  return {
    /**
     * A part of a page whose code is not needed to draw it: a menu, a dialog, a tooltip. It comes once the page is there
     * and the browser idle, or when it is drawn before that: where the network is gone by then, what floats still opens.
     * @param load Imports the component.
     */
    lazyPart<Props>(load: () => Promise<ComponentType<Props>>): LazyExoticComponent<ComponentType<Props>> {
      waiting.push(load)
      fetchNext()
      return lazy(async () => ({ default: await loadPage(load) }))
    },

    /** From now on parts are fetched, one after the other. Until then each comes when it is drawn. */
    fetchParts(): void {
      mayFetch = true
      fetchNext()
    },
  }
}

/** The parts of this page. */
export const { lazyPart, fetchParts } = createParts(work => {
  if ('requestIdleCallback' in window) requestIdleCallback(work)
  else setTimeout(work, IDLE_GUESS_MS)
})
