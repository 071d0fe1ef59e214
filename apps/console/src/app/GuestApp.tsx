import i18next from 'i18next'
import { type ComponentType, useEffect, useState } from 'react'
import { ErrorState } from '../ui/ErrorState.tsx'
import { InitFailure } from './InitFailure.tsx'
import { loadTexts } from './i18n.ts'
import { loadPage } from './load-page.ts'
import classes from './PagePending.module.css'
import { PagePending } from './PagePending.tsx'
import type { PageEntry, PageModule } from './page.ts'
import { redirectTarget } from './session/redirect-target.ts'
import { useSession } from './session/session.ts'
import { useReloadWhenBack } from './use-reload-when-back.ts'

interface GuestAppProps {
  entry: PageEntry
  /** The page's module with its texts, or null when they have to be loaded here. */
  loaded: PageModule | null
}

/**
 * A page outside the shell. It has no router: such a page leads away by loading another document, so that
 * signing in stays light and starts with an empty memory.
 */
export function App({ entry, loaded }: GuestAppProps) {
  const { isLoggedIn, failed } = useSession()
  const [page, setPage] = useState<{ Page: ComponentType } | { error: string } | null>(loaded)
  const leaves = entry.path === '/auth' && isLoggedIn === true

  useEffect(() => {
    if (loaded) return
    Promise.all([loadPage(entry.load), loadTexts(entry.namespaces)]).then(
      ([module]) => setPage(module),
      () => setPage({ error: i18next.t('page_failure.load') }),
    )
  }, [entry, loaded])
  useEffect(() => {
    if (!leaves) return
    const wanted = new URLSearchParams(location.search).get('redirect')
    location.replace(redirectTarget(wanted, location.origin))
  }, [leaves])

  if (failed) return <InitFailure />
  if (page === null || isLoggedIn === null || leaves) return <PagePending />
  if ('error' in page) return <GuestFailure message={page.error} />
  return <page.Page />
}

function GuestFailure({ message }: { message: string }) {
  useReloadWhenBack()
  return (
    <main className={classes.failure}>
      <ErrorState message={message} onRetry={() => location.reload()} />
    </main>
  )
}
