import { analyticsOf, type Brand } from '../config/brands.ts'

/** Origins beyond our own that a brand's pages may use, by what for. */
export interface BrandSources {
  images: readonly string[]
  scripts: readonly string[]
  connections: readonly string[]
}

/**
 * What the content policy must allow for a brand, and nothing else (R1.10).
 * @param brand The brand of the host.
 */
export function brandSources(brand: Brand): BrandSources {
  const { image_storage_url, logo } = brand
  const images = [image_storage_url, logo?.light.url, logo?.dark.url]
  const analytics = analyticsOf(brand)
  return {
    images: originsOf(images),
    scripts: originsOf([analytics?.script_url]),
    connections: originsOf([analytics?.script_url, ...(analytics?.connect_urls ?? [])]),
  }
}

function originsOf(addresses: readonly (string | null | undefined)[]): string[] {
  const origins = addresses.flatMap(address => (address ? (URL.parse(address)?.origin ?? []) : []))
  return [...new Set(origins)]
}
