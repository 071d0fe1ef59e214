import type { ComponentType } from 'react'
import type { Namespace } from './i18n.ts'

/** What the module of a page exports. */
export interface PageModule {
  Page: ComponentType
  /** Starts the page's queries while its code is still being drawn; not awaited. */
  prefetch?: (search: Record<string, string>) => void
}

/** A row of the table of routes. */
export interface PageEntry {
  path: string
  /** `guest`: anybody, without the shell. `public`: anybody, inside the shell. `user`: signed-in only (R2.3, R2.4). */
  access: 'guest' | 'public' | 'user'
  namespaces: readonly Namespace[]
  load: () => Promise<PageModule>
}
