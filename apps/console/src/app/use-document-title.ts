import { useEffect } from 'react'
import { useTranslation } from 'react-i18next'
import { pageTitle } from './page-title.ts'

/**
 * Keeps the tab's title: the page, then the brand (R2.10).
 * @param pathname The page's path.
 * @param brand The name that the deployment host selects.
 */
export function useDocumentTitle(pathname: string, brand: string): void {
  const { t } = useTranslation('common')
  const title = `${pageTitle(pathname, t)} · ${brand}`
  useEffect(() => {
    document.title = title
  }, [title])
}
