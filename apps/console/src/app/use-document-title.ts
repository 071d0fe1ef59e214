import { useEffect } from 'react'

/**
 * Keeps the tab's title: the page, then the brand (R2.10).
 * @param page What the page is called; `pageTitle` says it of a path.
 * @param brand The name that the deployment host selects.
 */
export function useDocumentTitle(page: string, brand: string): void {
  const title = `${page} · ${brand}`
  useEffect(() => {
    document.title = title
  }, [title])
}
