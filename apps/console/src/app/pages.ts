import type { PageEntry } from './page.ts'

/**
 * The one table of routes. A page that is not here does not exist; a page that is not built is not here and so
 * not in the menu.
 */
export const PAGES = [
  {
    path: '/auth',
    access: 'guest',
    namespaces: ['auth'],
    load: () => import('../pages/auth/AuthPage.tsx'),
  },
  {
    path: '/reset-password',
    access: 'guest',
    namespaces: ['auth'],
    load: () => import('../pages/auth/ResetPasswordPage.tsx'),
  },
  {
    path: '/callback',
    access: 'guest',
    namespaces: ['auth'],
    load: () => import('../pages/callback/CallbackPage.tsx'),
  },
  {
    path: '/activty',
    access: 'guest',
    namespaces: ['auth'],
    load: () => import('../pages/activity/ActivityPage.tsx'),
  },
  {
    path: '/logout',
    access: 'guest',
    namespaces: ['auth'],
    load: () => import('../pages/logout/LogoutPage.tsx'),
  },
  {
    path: '/mailbox',
    access: 'guest',
    namespaces: ['auth'],
    load: () => import('../pages/mailbox/MailboxPage.tsx'),
  },
  {
    path: '/terms',
    access: 'guest',
    namespaces: ['auth'],
    load: () => import('../pages/terms/TermsPage.tsx'),
  },
  {
    path: '/explore',
    access: 'user',
    namespaces: ['explore', 'deploy', 'offers', 'public-ip', 'terms-of-payment', 'volumes', 'watches'],
    load: () => import('../pages/explore/ExplorePage.tsx'),
  },
  {
    path: '/instance-list',
    access: 'user',
    namespaces: [
      'instances',
      'bulk',
      'events',
      'doctor',
      'terms-of-payment',
      'public-ip',
      'volumes',
      'images',
      'image-form',
    ],
    load: () => import('../pages/instance-list/InstanceListPage.tsx'),
  },
  {
    path: '/instance',
    access: 'user',
    namespaces: [
      'instance',
      'instances',
      'events',
      'doctor',
      'files',
      'terms-of-payment',
      'public-ip',
      'volumes',
      'images',
      'image-form',
    ],
    load: () => import('../pages/instance/InstancePage.tsx'),
  },
  {
    path: '/network-volume',
    access: 'user',
    namespaces: ['volumes'],
    load: () => import('../pages/network-volume/NetworkVolumePage.tsx'),
  },
  {
    path: '/my-images',
    access: 'user',
    namespaces: ['images', 'image-form'],
    load: () => import('../pages/my-images/MyImagesPage.tsx'),
  },
  {
    path: '/model-endpoints',
    access: 'public',
    namespaces: ['models', 'chat', 'check-in'],
    load: () => import('../pages/model-endpoints/ModelEndpointsPage.tsx'),
  },
  {
    path: '/chat-model',
    access: 'public',
    namespaces: ['chat', 'models'],
    load: () => import('../pages/chat-model/ChatModelPage.tsx'),
  },
  {
    path: '/multi-modal',
    access: 'user',
    namespaces: ['chat', 'models'],
    load: () => import('../pages/multi-modal/MultiModalPage.tsx'),
  },
  {
    path: '/image-model',
    access: 'public',
    namespaces: ['making', 'models', 'chat'],
    load: () => import('../pages/image-model/ImageModelPage.tsx'),
  },
  {
    path: '/video-model',
    access: 'user',
    namespaces: ['making', 'models', 'chat'],
    load: () => import('../pages/video-model/VideoModelPage.tsx'),
  },
  {
    path: '/community-image',
    access: 'public',
    namespaces: ['images'],
    load: () => import('../pages/community-image/CommunityImagePage.tsx'),
  },
  {
    path: '/image-detail',
    access: 'public',
    namespaces: ['images'],
    load: () => import('../pages/image-detail/ImageDetailPage.tsx'),
  },
  {
    path: '/terminal',
    access: 'user',
    namespaces: ['instances'],
    load: () => import('../pages/terminal/TerminalPage.tsx'),
  },
  {
    path: '/payments',
    access: 'user',
    namespaces: [
      'payments',
      'methods',
      'coupons',
      'invoices',
      'budgets',
      'resume',
      'events',
      'terms-of-payment',
      'transactions',
    ],
    load: () => import('../pages/payments/PaymentsPage.tsx'),
  },
  {
    path: '/session-logs',
    access: 'user',
    namespaces: ['session-logs', 'models'],
    load: () => import('../pages/session-logs/SessionLogsPage.tsx'),
  },
  {
    path: '/bill-details',
    access: 'user',
    namespaces: ['bills', 'payments', 'invoices', 'events', 'terms-of-payment'],
    load: () => import('../pages/bill-details/BillDetailsPage.tsx'),
  },
  {
    path: '/refer-earn',
    access: 'user',
    namespaces: ['refer'],
    load: () => import('../pages/refer-earn/ReferEarnPage.tsx'),
  },
  {
    path: '/refer-earn-details',
    access: 'user',
    namespaces: ['refer'],
    load: () => import('../pages/refer-earn/ReferEarnDetailsPage.tsx'),
  },
  {
    path: '/settings',
    access: 'user',
    namespaces: ['settings', 'keys', 'models', 'invoices', 'resume'],
    load: () => import('../pages/settings/SettingsPage.tsx'),
  },
  {
    path: '/docs',
    access: 'public',
    namespaces: ['docs'],
    load: () => import('../pages/docs/DocsPage.tsx'),
  },
] as const satisfies readonly PageEntry[]

/** The path of a page that exists. */
export type PagePath = (typeof PAGES)[number]['path']

/** Old or right spellings that lead to a page: the seed spells the activation page `/activty` (R2.2). */
export const ALIASES: Readonly<Record<string, PagePath>> = { '/activity': '/activty' }

/**
 * The page outside the shell that a path names, with old spellings followed.
 * @param path A pathname.
 * @returns Its row, or null when the path belongs to the console proper.
 */
export function guestPage(path: string): PageEntry | null {
  const known = ALIASES[path] ?? path
  return PAGES.find(page => page.path === known && page.access === 'guest') ?? null
}

/**
 * Whether a path can be seen without being signed in (R2.3).
 * @param path A pathname.
 */
export function isOpenPath(path: string): boolean {
  const entry: PageEntry | undefined = PAGES.find(page => page.path === path)
  return path in ALIASES || (entry !== undefined && entry.access !== 'user')
}
