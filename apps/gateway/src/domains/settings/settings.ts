import type { getSettings } from '@berth/contract/account'
import type { CallData } from '@berth/contract/call'
import packageJson from '../../../package.json' with { type: 'json' }
import type { Catalogue } from '../../platform/config/catalogue.ts'

type Brand = Catalogue['brands'][number]

export interface Settings {
  /**
   * What every page may know before sign-in (R1.10).
   * @param origin Scheme, host and port that the caller used: the host selects the brand.
   */
  read(origin: string): CallData<typeof getSettings>
}

interface SettingsDeps {
  catalogue: Pick<Catalogue, 'brands'>
  /** Mails are kept in the local mailbox. */
  mailbox: boolean
  /** The machine driver that runs here, or why none does. */
  compute: { driver: string | null; why: string | null }
}

/** Makes the settings domain. */
export function createSettings({ catalogue, mailbox, compute }: SettingsDeps): Settings {
  return {
    read(origin) {
      const { name, docs_url } = findBrand(catalogue, origin)
      return { brand: { name, docs_url }, mailbox, compute, version: packageJson.version }
    },
  }
}

/**
 * The brand of a host (R1.10): one that names the host, with or without its port, else the default one.
 * @param origin Such as `https://console.example.com`.
 */
function findBrand({ brands }: Pick<Catalogue, 'brands'>, origin: string): Brand {
  const url = URL.canParse(origin) ? new URL(origin) : null
  const hosts = url ? [url.host, url.hostname] : []
  const brand =
    brands.find(one => one.hosts.some(host => hosts.includes(host.toLowerCase()))) ??
    brands.find(one => one.hosts.includes('default'))
  if (!brand) throw new Error('the catalogue has no brand for the host `default`')
  return brand
}
