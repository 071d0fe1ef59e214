import { IconCompass, IconCreditCard, IconServer } from '@tabler/icons-react'
import type { PagePath } from '../pages.ts'

/** An entry of the side menu and of the command palette; its words are the title of its path. */
export interface MenuEntry {
  path: PagePath
  icon: typeof IconServer
}

/** A part of the menu; the first part has no heading. */
export interface MenuGroup {
  heading: 'compute' | 'billing'
  entries: readonly MenuEntry[]
}

/** The side menu (R2.12): only pages that are built. */
export const MENU: readonly MenuGroup[] = [
  {
    heading: 'compute',
    entries: [
      { path: '/explore', icon: IconCompass },
      { path: '/instance-list', icon: IconServer },
    ],
  },
  { heading: 'billing', entries: [{ path: '/payments', icon: IconCreditCard }] },
]
