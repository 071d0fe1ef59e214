import type { Image } from '@berth/contract/images'
import type { ImageRecipe } from '../../drivers/compute/port/images.ts'
import { asNobody, type RegistryAccess } from '../../drivers/compute/port/registry-access.ts'
import type { Catalogue, CatalogueImage } from '../../platform/config/catalogue.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import type { Fleet, KnownEngine } from '../fleet/fleet.ts'

export type Images = ReturnType<typeof createImages>

/**
 * Official images: entries of the catalogue that each driver knows how to make.
 * @param deps `fleet` says what can be made now, and where; `access` what the operator's images may show to their
 *   registries, left out for nothing.
 */
export function createImages(deps: {
  catalogue: Pick<Catalogue, 'images' | 'regions'>
  fleet: Pick<Fleet, 'engines' | 'isReached'>
  access?: RegistryAccess
}) {
  const { catalogue, fleet, access = asNobody } = deps

  /** Engines that answer now, of one region or of all. */
  function enginesIn(regionCode: string | null): KnownEngine[] {
    return fleet.engines().filter(({ id, facts }) => {
      return fleet.isReached(id) && (regionCode === null || facts?.region_codes.includes(regionCode))
    })
  }

  /**
   * Official images, in the catalogue's order.
   * @param regionCode As far as one region's engines can make them, or any region's when null.
   * @throws ApiError `region_not_supported` for a region that does not exist.
   */
  function official(regionCode: string | null): Image[] {
    if (regionCode !== null && !catalogue.regions.some(({ code }) => code === regionCode)) {
      throw new ApiError('region_not_supported')
    }
    const engines = enginesIn(regionCode)
    return catalogue.images.map(entry => toImage(entry, unavailableReason(entry, engines)))
  }

  /**
   * One image by id, as far as it can be made in a region, or anywhere when that is null.
   * @throws ApiError `image_unknown`.
   */
  function find(
    id: string,
    regionCode: string | null = null,
  ): Image & { recipe: ImageRecipe; access: RegistryAccess } {
    const entry = entryOf(id)
    const reason = unavailableReason(entry, enginesIn(regionCode))
    return { ...toImage(entry, reason), recipe: toRecipe(entry), access }
  }

  /**
   * Whether engines of a driver of that name can make an image.
   * @throws ApiError `image_unknown`.
   */
  function makes(id: string, driver: string): boolean {
    return canMake(entryOf(id), driver)
  }

  function entryOf(id: string): CatalogueImage {
    const entry = catalogue.images.find(image => image.id === id)
    if (!entry) throw new ApiError('image_unknown', { fields: [{ path: 'image_id', rule: 'not_allowed' }] })
    return entry
  }

  /** Null when it can be made; else a key of the console's texts. */
  function unavailableReason(entry: CatalogueImage, engines: KnownEngine[]): string | null {
    if (engines.length === 0) return 'no_driver'
    const isMade = engines.some(
      ({ driver, facts }) => facts?.kinds.includes(entry.kind) === true && canMake(entry, driver),
    )
    return isMade ? null : 'not_on_engine'
  }

  /** Each driver makes an image from its own part of the recipe; one that no recipe speaks to needs none. */
  function canMake({ recipe }: CatalogueImage, driver: string): boolean {
    return driver in recipe || !catalogue.images.some(image => driver in image.recipe)
  }

  return { official, find, makes }
}

/** How drivers make an image of the catalogue. */
export function toRecipe({ id, recipe }: CatalogueImage): ImageRecipe {
  return { id, parts: recipe }
}

function toImage(entry: CatalogueImage, unavailable_reason: string | null): Image {
  return {
    id: entry.id,
    type: 'Official',
    name: entry.name,
    description: entry.description,
    size: entry.size_mb,
    region_code: null,
    kind: entry.kind,
    tags: entry.tags,
    version_info: entry.version_info,
    http_ports: entry.http_ports,
    tcp_ports: entry.tcp_ports,
    min_vram_gb: entry.min_vram_gb,
    available: unavailable_reason === null,
    unavailable_reason,
    drivers: Object.keys(entry.recipe),
  }
}
