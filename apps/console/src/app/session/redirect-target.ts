/** Where a signed-in customer starts (R2.6). */
export const HOME_PATH = '/model-endpoints'

/**
 * Where to go after sign-in (R2.6): only to a path of this console, never to another site.
 * @param wanted The `redirect` parameter as it came, or nothing.
 * @param origin This page's origin.
 * @returns A path with its query, which starts with a single slash.
 */
export function redirectTarget(wanted: unknown, origin: string): string {
  if (typeof wanted !== 'string' || !wanted.startsWith('/')) return HOME_PATH
  let url: URL
  try {
    url = new URL(wanted, origin)
  } catch {
    return HOME_PATH
  }
  // The parser reads `//host`, `/\host` and `/<tab>/host` as another site, so its own verdict is what counts.
  if (url.origin !== origin) return HOME_PATH
  if (url.pathname === '/' || url.pathname.startsWith('//')) return HOME_PATH
  if (url.pathname === '/auth' || url.pathname === '/logout') return HOME_PATH
  return url.pathname + url.search
}
