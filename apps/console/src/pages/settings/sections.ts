import { APPLICATION, getApplication, listSessions } from '@berth/contract/account'
import { listApiKeys } from '@berth/contract/api-keys'
import { getBillingAddress } from '@berth/contract/invoices'
import { getNotifications } from '@berth/contract/notifications'
import { listRegistryCredentials } from '@berth/contract/registries'
import { listSshKeys } from '@berth/contract/ssh-keys'
import {
  IconBell,
  IconCode,
  IconDevices,
  IconFileInvoice,
  IconFingerprint,
  IconHistory,
  IconKey,
  IconPackage,
  IconTrash,
  IconUser,
} from '@tabler/icons-react'
import { type ComponentType, type LazyExoticComponent, lazy } from 'react'
import { queryOf } from '../../api/queries.ts'
import { queryClient } from '../../api/query-client.ts'
import { loadPage } from '../../app/load-page.ts'
import type { SectionId } from '../../app/settings-sections.ts'

/** A section of the page. Its code comes when it is first opened, or when somebody points at its link. */
interface Section {
  icon: typeof IconUser
  Content: LazyExoticComponent<ComponentType>
  /** Fetches its code, and starts what it shows first. */
  prepare: () => void
}

/** Every section; the order of the menu is the one of `SECTION_GROUPS`. */
export const SECTIONS: Record<SectionId, Section> = {
  profile: section(IconUser, () => import('./profile/ProfileSection.tsx').then(m => m.ProfileSection)),
  notifications: section(
    IconBell,
    () => import('./notifications/NotificationsSection.tsx').then(m => m.NotificationsSection),
    () => queryClient.prefetchQuery(queryOf(getNotifications, {})),
  ),
  billing: section(
    IconFileInvoice,
    () => import('./billing/BillingSection.tsx').then(m => m.BillingSection),
    () => queryClient.prefetchQuery(queryOf(getBillingAddress, {})),
  ),
  'sign-in': section(
    IconFingerprint,
    () => import('./sign-in/SignInSection.tsx').then(m => m.SignInSection),
    () => queryClient.prefetchQuery(queryOf(getApplication, { query: { id: `admin/${APPLICATION}` } })),
  ),
  sessions: section(
    IconDevices,
    () => import('./sessions/SessionsSection.tsx').then(m => m.SessionsSection),
    () => queryClient.prefetchQuery(queryOf(listSessions, {})),
  ),
  'ssh-keys': section(
    IconKey,
    () => import('./keys/SshKeysSection.tsx').then(m => m.SshKeysSection),
    () => queryClient.prefetchQuery(queryOf(listSshKeys, {})),
  ),
  registries: section(
    IconPackage,
    () => import('./keys/RegistriesSection.tsx').then(m => m.RegistriesSection),
    () => queryClient.prefetchQuery(queryOf(listRegistryCredentials, {})),
  ),
  'api-keys': section(
    IconCode,
    () => import('./keys/ApiKeysSection.tsx').then(m => m.ApiKeysSection),
    () => queryClient.prefetchQuery(queryOf(listApiKeys, {})),
  ),
  'audit-log': section(IconHistory, () => import('./audit/AuditSection.tsx').then(m => m.AuditSection)),
  delete: section(IconTrash, () => import('./delete/DeleteSection.tsx').then(m => m.DeleteSection)),
}

/** The menu: what belongs together, under a heading. */
export const SECTION_GROUPS: readonly {
  heading: 'account' | 'security' | 'keys'
  ids: readonly SectionId[]
}[] = [
  { heading: 'account', ids: ['profile', 'notifications', 'billing', 'delete'] },
  { heading: 'security', ids: ['sign-in', 'sessions', 'audit-log'] },
  { heading: 'keys', ids: ['ssh-keys', 'registries', 'api-keys'] },
]

function section(
  icon: typeof IconUser,
  load: () => Promise<ComponentType>,
  prefetch?: () => Promise<unknown>,
): Section {
  const loadAgain = () => loadPage(load)
  return {
    icon,
    Content: lazy(() => loadAgain().then(content => ({ default: content }))),
    prepare: () => {
      // A failure is met, and told, where the section is drawn.
      void loadAgain().catch(() => undefined)
      void prefetch?.()
    },
  }
}
