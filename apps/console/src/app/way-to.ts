import { useNavigate } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import type { ToastLink } from '../ui/toast.ts'
import { pageTitle } from './page-title.ts'
import { searchOf, stringifySearch } from './search.ts'

/**
 * A page of the console, for a toast to lead to; it works after the component that asked for it is gone.
 * @param to The page's path; its title is the link's text.
 * @param search What its address holds besides.
 */
export function useWayTo(to: string, search: Readonly<Record<string, string>> = {}): ToastLink {
  const { t } = useTranslation('common')
  const navigate = useNavigate()
  return {
    label: pageTitle(to, t),
    href: to + stringifySearch(search),
    follow: () => void navigate({ to, search: searchOf(search) }),
  }
}
