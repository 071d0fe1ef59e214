import { IconCompass, IconCreditCard, IconDatabase, IconServer, IconSettings } from '@tabler/icons-react'
import type { PagePath } from '../pages.ts'

/** An entry of the side menu and of the command palette; its words are the title of its path. */
export interface MenuEntry {
  path: PagePath
  icon: typeof IconServer
}

/** A part of the menu. The one of the account stands at the foot, where its heading is only said. */
export interface MenuGroup {
  heading: 'compute' | 'billing' | 'account'
  entries: readonly MenuEntry[]
}

/** The side menu (R2.12): only pages that are built. */
export const MENU: readonly MenuGroup[] = [
  {
    heading: 'compute',
    entries: [
      { path: '/explore', icon: IconCompass },
      { path: '/instance-list', icon: IconServer },
      { path: '/network-volume', icon: IconDatabase },
    ],
  },
  { heading: 'billing', entries: [{ path: '/payments', icon: IconCreditCard }] },
  { heading: 'account', entries: [{ path: '/settings', icon: IconSettings }] },
]
