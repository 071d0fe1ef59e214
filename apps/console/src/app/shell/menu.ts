import {
  IconCompass,
  IconCreditCard,
  IconDatabase,
  IconGift,
  IconPhotoCog,
  IconReceipt,
  IconServer,
  IconSettings,
  IconSparkles,
  IconUsers,
} from '@tabler/icons-react'
import { MODEL_PATHS } from '../model-paths.ts'
import type { PagePath } from '../pages.ts'

/** An entry of the side menu and of the command palette; its words are the title of its path. */
export interface MenuEntry {
  path: PagePath
  icon: typeof IconServer
  /** Pages that are reached from it, and count as its place. */
  holds?: readonly string[]
}

/** A part of the menu. The headings of the first and of the one of the account, at the foot, are only said. */
export interface MenuGroup {
  heading: 'discover' | 'compute' | 'billing' | 'account'
  entries: readonly MenuEntry[]
}

/** The side menu (R2.12): only pages that are built. */
export const MENU: readonly MenuGroup[] = [
  {
    heading: 'discover',
    entries: [
      { path: '/model-endpoints', icon: IconSparkles, holds: MODEL_PATHS },
      { path: '/community-image', icon: IconUsers },
    ],
  },
  {
    heading: 'compute',
    entries: [
      { path: '/explore', icon: IconCompass },
      { path: '/instance-list', icon: IconServer },
      { path: '/network-volume', icon: IconDatabase },
      { path: '/my-images', icon: IconPhotoCog },
    ],
  },
  {
    heading: 'billing',
    entries: [
      { path: '/payments', icon: IconCreditCard },
      { path: '/bill-details', icon: IconReceipt },
      { path: '/refer-earn-details', icon: IconGift, holds: ['/refer-earn'] },
    ],
  },
  { heading: 'account', entries: [{ path: '/settings', icon: IconSettings }] },
]
