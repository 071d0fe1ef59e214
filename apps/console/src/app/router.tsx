import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router'
import { restCache } from '../api/cache-lifecycle.ts'
import { abortForNavigation } from '../api/client.ts'
import { loadTexts } from './i18n.ts'
import { loadPage } from './load-page.ts'
import { PageFailure } from './PageFailure.tsx'
import { PagePending } from './PagePending.tsx'
import type { PageEntry } from './page.ts'
import { PAGES } from './pages.ts'
import { wayIn } from './router-guard.ts'
import { parseSearch, stringifySearch } from './search.ts'
import { HOME_PATH } from './session/redirect-target.ts'
import { session } from './session/session.ts'

const rootRoute = createRootRoute({ component: Outlet })

const shellRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'shell',
  component: lazyRouteComponent(() => loadPage(() => import('./shell/Shell.tsx')), 'Shell'),
})

const isLoggedIn = () => session().getState().isLoggedIn === true

/**
 * Sends who may not see a page to sign in (R2.6, R2.7). The sign-in page loads as a document of its own: it must not
 * weigh what the console weighs, and nothing of one customer stays in memory.
 */
function guard(access: PageEntry['access'], href: string): void {
  const way = wayIn(access, isLoggedIn(), href)
  if (way !== null) throw redirect({ href: way, reloadDocument: true })
}

function routeOf(entry: PageEntry) {
  const load = () => loadPage(entry.load)
  return createRoute({
    getParentRoute: () => shellRoute,
    path: entry.path,
    beforeLoad: ({ location }) => guard(entry.access, location.href),
    loader: async ({ location }) => {
      const [page] = await Promise.all([load(), loadTexts(entry.namespaces)])
      page.prefetch?.(location.search as Record<string, string>)
    },
    component: lazyRouteComponent(load, 'Page'),
  })
}

const indexRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/',
  beforeLoad: () => {
    guard('user', '/')
    throw redirect({ to: HOME_PATH, replace: true })
  },
})

const unknownRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '$',
  beforeLoad: ({ location }) => guard('user', location.href),
  component: lazyRouteComponent(() => loadPage(() => import('./shell/UnknownPage.tsx')), 'UnknownPage'),
})

const entries: readonly PageEntry[] = PAGES
const routeTree = rootRoute.addChildren([
  indexRoute,
  shellRoute.addChildren([...entries.filter(entry => entry.access !== 'guest').map(routeOf), unknownRoute]),
])

/** The router over those rows of the table of routes that live in the shell. */
export const router = createRouter({
  routeTree,
  parseSearch,
  stringifySearch,
  scrollRestoration: true,
  defaultPreload: 'intent',
  defaultPendingComponent: PagePending,
  defaultPendingMs: 150,
  defaultPendingMinMs: 0,
  defaultErrorComponent: PageFailure,
})

router.subscribe('onBeforeNavigate', ({ fromLocation, pathChanged }) => {
  // The first page leaves nothing behind.
  if (!fromLocation || !pathChanged) return
  restCache()
  abortForNavigation()
})
