import { useEffect, useSyncExternalStore } from 'react'

let named: string | null = null
const listeners = new Set<() => void>()

function name(next: string | null): void {
  named = next
  for (const listener of listeners) listener()
}

/**
 * Names what the page shows, for the tab's title: of many pages of one kind the path alone does not say which.
 * @param shown The name; null while it is not known: then the title is the page's.
 */
export function usePageName(shown: string | null): void {
  useEffect(() => {
    name(shown)
    return () => name(null)
  }, [shown])
}

/** What the page says that it shows; null where its path says enough. */
export function useNamedPage(): string | null {
  return useSyncExternalStore(subscribe, () => named)
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
