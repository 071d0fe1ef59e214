import type { getSettings } from '@berth/contract/account'
import type { CallData } from '@berth/contract/call'
import packageJson from '../../../package.json' with { type: 'json' }
import { analyticsOf, findBrand } from '../../platform/config/brands.ts'
import type { Catalogue } from '../../platform/config/catalogue.ts'

interface SettingsDeps {
  catalogue: Pick<Catalogue, 'brands'>
  /** Mails are kept in the local mailbox. */
  mailbox: boolean
  /** The driver of engines that make machines; null where none does. */
  compute(): { driver: string | null }
}

/** Makes the settings domain. */
export function createSettings({ catalogue, mailbox, compute }: SettingsDeps) {
  return {
    /**
     * What every page may know before sign-in (R1.10).
     * @param origin Scheme, host and port that the caller used: the host selects the brand.
     */
    read(origin: string): CallData<typeof getSettings> {
      const brand = findBrand(catalogue.brands, URL.parse(origin)?.host ?? '')
      const { name, docs_url, image_storage_url, logo } = brand
      const analytics = analyticsOf(brand)
      return {
        brand: {
          name,
          docs_url,
          image_storage_url,
          logo: logo && { light: logo.light.url, dark: logo.dark.url },
          analytics: analytics && { script_url: analytics.script_url, attributes: analytics.attributes },
        },
        mailbox,
        compute: compute(),
        version: packageJson.version,
      }
    },
  }
}
export type Settings = ReturnType<typeof createSettings>
