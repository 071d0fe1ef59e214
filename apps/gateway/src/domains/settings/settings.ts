import type { getSettings, getTerms } from '@berth/contract/account'
import type { CallData } from '@berth/contract/call'
import type { Language } from '@berth/contract/limits'
import packageJson from '../../../package.json' with { type: 'json' }
import { analyticsOf, findBrand } from '../../platform/config/brands.ts'
import type { Catalogue } from '../../platform/config/catalogue.ts'

interface SettingsDeps {
  catalogue: Pick<Catalogue, 'brands'>
  /** Mails are kept in the local mailbox. */
  mailbox: boolean
  /** The driver of engines that make machines; null where none does. */
  compute(): { driver: string | null }
  /** Customers reach direct ports of instances at the address that all share. */
  directPorts: boolean
}

/** Makes the settings domain. */
export function createSettings({ catalogue, mailbox, compute, directPorts }: SettingsDeps) {
  const brandOf = (origin: string) => findBrand(catalogue.brands, URL.parse(origin)?.host ?? '')
  return {
    /**
     * What every page may know before sign-in (R1.10).
     * @param origin Scheme, host and port that the caller used: the host selects the brand.
     */
    read(origin: string): CallData<typeof getSettings> {
      const brand = brandOf(origin)
      const { name, docs_url, terms, image_storage_url, logo } = brand
      const analytics = analyticsOf(brand)
      return {
        brand: {
          name,
          docs_url,
          terms_url: terms.url,
          image_storage_url,
          logo: logo && { light: logo.light.url, dark: logo.dark.url },
          analytics: analytics && { script_url: analytics.script_url, attributes: analytics.attributes },
        },
        mailbox,
        compute: compute(),
        direct_ports: directPorts,
        version: packageJson.version,
      }
    },

    /**
     * What one agrees to at sign-up.
     * @param origin As above.
     * @returns The text as HTML; null where the brand keeps it elsewhere.
     */
    terms(origin: string, language: Language): CallData<typeof getTerms> {
      const { url, html } = brandOf(origin).terms
      return { url, html: html?.[language] ?? null }
    },
  }
}
export type Settings = ReturnType<typeof createSettings>
