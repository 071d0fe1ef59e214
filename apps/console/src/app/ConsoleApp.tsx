import { RouterProvider } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { InitFailure } from './InitFailure.tsx'
import { PagePending } from './PagePending.tsx'
import { router } from './router.tsx'
import { useSession } from './session/session.ts'

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
