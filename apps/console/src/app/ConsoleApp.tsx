import { RouterProvider } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { InitFailure } from './InitFailure.tsx'
import { loadPage } from './load-page.ts'
import { PagePending } from './PagePending.tsx'
import type { PageEntry } from './page.ts'
import { router } from './router.tsx'
import { parseSearch } from './search.ts'
import { useSession } from './session/session.ts'
import { readToken } from './session/session-storage.ts'

/**
 * Starts what a page asks for while it is not yet known whether the session is good: mostly it is, and otherwise
 * what was fetched is forgotten with the session.
 * @param entry The page that the address names, or null.
 */
export function startPage(entry: PageEntry | null): void {
  if (!entry || readToken() === null) return
  loadPage(entry.load).then(
    page => page.prefetch?.(parseSearch(location.search)),
    // The router loads it again, and says so when it cannot.
    () => undefined,
  )
}

/** The console proper: the router, once it is known who is signed in (R2.8). */
export function App() {
  const { isLoggedIn, failed } = useSession()
  const [seen, setSeen] = useState(isLoggedIn)
  useEffect(() => {
    if (isLoggedIn === seen) return
    setSeen(isLoggedIn)
    // The guards look again, and leave for the page that is now right.
    if (seen !== null) void router.invalidate()
  }, [isLoggedIn, seen])

  if (isLoggedIn === null) return failed ? <InitFailure /> : <PagePending />
  return <RouterProvider router={router} />
}
