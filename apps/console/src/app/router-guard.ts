import type { PageEntry } from './page.ts'
import { stringifySearch } from './search.ts'

/**
 * Where somebody has to go before they may see a page: a guest signs in, and comes back to where they wanted to go, by
 * path and query (R2.6). One who has just signed out is such a guest; on a public page they stay (R2.3, R2.7).
 * @param access Who may see the page.
 * @param isLoggedIn Whether somebody is signed in.
 * @param href The page's path and query.
 * @returns The address of the sign-in page; null where nothing is in the way.
 */
export function wayIn(access: PageEntry['access'], isLoggedIn: boolean, href: string): string | null {
  if (isLoggedIn || access !== 'user') return null
  return `/auth${stringifySearch({ redirect: href === '/' ? '' : href })}`
}
