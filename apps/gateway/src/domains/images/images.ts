import type { Image } from '@berth/contract/images'
import type { ImageRecipe } from '../../drivers/compute/port.ts'
import type { Catalogue, CatalogueImage } from '../../platform/config/catalogue.ts'
import { ApiError } from '../../platform/http/api-error.ts'

export interface Images {
  /**
   * Official images, in the catalogue's order.
   * @param regionCode One region's, or every region's when null.
   * @throws ApiError `region_not_supported` for a region that does not exist.
   */
  official(regionCode: string | null): Image[]
  /**
   * One image by id.
   * @throws ApiError `image_unknown`.
   */
  find(id: string): Image & { recipe: ImageRecipe }
}

/**
 * Official images: entries of the catalogue that each driver knows how to make.
 * @param deps `driverName` is the machine driver that runs here, or null.
 */
export function createImages(deps: { catalogue: Catalogue; driverName: string | null }): Images {
  const { catalogue, driverName } = deps
  const all = catalogue.images.map(entry => ({ ...toImage(entry, driverName), recipe: toRecipe(entry) }))
  return {
    official(regionCode) {
      if (regionCode !== null && !catalogue.regions.some(({ code }) => code === regionCode)) {
        throw new ApiError('region_not_supported')
      }
      return all.map(({ recipe: _, ...image }) => image)
    },
    find(id) {
      const found = all.find(image => image.id === id)
      if (!found) {
        throw new ApiError('image_unknown', { fields: [{ path: 'image_id', rule: 'not_allowed' }] })
      }
      return found
    },
  }
}

function toRecipe(entry: CatalogueImage): ImageRecipe {
  return {
    id: entry.id,
    docker: entry.docker ?? null,
    sandbox: entry.sandbox ? { userland: entry.sandbox } : null,
  }
}

function toImage(entry: CatalogueImage, driverName: string | null): Image {
  const reason = unavailableReason(entry, driverName)
  return {
    id: entry.id,
    type: 'Official',
    name: entry.name,
    description: entry.description,
    size_mb: entry.size_mb,
    region_code: null,
    kind: 'POD',
    tags: entry.tags,
    version_info: entry.version_info,
    http_ports: entry.http_ports,
    tcp_ports: entry.tcp_ports,
    min_vram_gb: entry.min_vram_gb,
    available: reason === null,
    unavailable_reason: reason,
  }
}

/** Null when it can be made here; else a key of the console's texts. */
function unavailableReason(entry: CatalogueImage, driverName: string | null): string | null {
  if (driverName === null) return 'no_driver'
  if (driverName === 'docker') return entry.docker ? null : 'needs_sandbox'
  if (driverName === 'sandbox') return entry.sandbox ? null : 'needs_docker'
  return null
}
