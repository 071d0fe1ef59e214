import type { BackendModule } from 'i18next'
import { brandOfPage } from '../ui/brand-of-page.ts'
import { loadPage } from './load-page.ts'

/**
 * Fetches the texts of a language and a namespace from `/locales/{lng}/{ns}.json` (R2.15). It is all that the
 * console needs of a backend; the general one weighs more than some pages do.
 */
export const localeBackend: BackendModule = {
  type: 'backend',
  init() {},
  read(language, namespace, done) {
    const fetchTexts = async () => {
      const response = await fetch(`/locales/${language}/${namespace}.json`)
      if (!response.ok) throw new Error(`The texts ${language}/${namespace} answered ${response.status}.`)
      const texts = await response.json()
      // The brand's name stands wherever a text names the product (R1.10).
      return { ...texts, ...(texts.brand && { brand: brandOfPage()?.name ?? texts.brand }) }
    }
    loadPage(fetchTexts).then(
      texts => done(null, texts),
      // `true`: what was lost may be asked for again.
      (error: Error) => done(error, true),
    )
  },
}
