import type { TFunction } from 'i18next'
import type common from '../../public/locales/en/common.json'

/**
 * The title of a page: the last segment of its path, in words of the language (R2.10).
 * @param path A pathname.
 * @param t The common texts.
 * @returns `Instances` for `/instance-list`; an unknown segment is spelled out, and said to be unknown: `some-page` gives `Some page (not found)`.
 */
export function pageTitle(path: string, t: TFunction<'common'>): string {
  const segment = path.split('/').filter(Boolean).at(-1) ?? ''
  const words = decodeSafely(segment).replace(/[-_]+/g, ' ').trim()
  const spelled = words.charAt(0).toUpperCase() + words.slice(1)
  const unknown = spelled === '' ? '' : t('unknown_page.tab', { page: spelled })
  return t(`titles.${segment as keyof typeof common.titles}`, { defaultValue: unknown })
}

function decodeSafely(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
