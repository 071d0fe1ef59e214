import type { Image, ImageDetail } from '@berth/contract/images'
import type { ImageRecipe } from '../../drivers/compute/port/images.ts'
import { partsOfReference } from '../../drivers/compute/port/reference-parts.ts'
import { asNobody, type RegistryAccess } from '../../drivers/compute/port/registry-access.ts'
import type { Catalogue, CatalogueImage } from '../../platform/config/catalogue.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import type { Fleet, KnownEngine } from '../fleet/fleet.ts'
import { createGallery, type GalleryDeps } from './gallery.ts'

export type Images = ReturnType<typeof createImages>

const MB_PER_GB = 1_024

/** Which image is meant: one of the catalogue, or one of a registry that a customer named. */
export interface ImageChoice {
  userId: string
  imageId: string | null
  imageReference: string | null
  registryCredentialId: string | null
}

/** An image as far as a deploy needs to know it. */
export interface FoundImage
  extends Pick<Image, 'name' | 'kind' | 'size' | 'available' | 'unavailable_reason'> {
  recipe: ImageRecipe
  access: RegistryAccess
}

export interface ImagesDeps extends Omit<GalleryDeps, 'unavailableReason'> {
  catalogue: Pick<Catalogue, 'images' | 'regions' | 'prices'>
  fleet: Pick<Fleet, 'engines' | 'isReached'>
  /** What the operator's images may show to their registries; left out for nothing. */
  access?: RegistryAccess
  /** What pulls of a customer's own reference may show to its registry; left out for nothing. */
  customerAccess?: (who: { userId: string; credentialId: string | null }) => RegistryAccess
}

/**
 * Images: official ones, which are entries of the catalogue that each driver knows how to make, customers' own, and those
 * of the community.
 */
export function createImages(deps: ImagesDeps) {
  const { catalogue, fleet, access = asNobody, customerAccess = () => asNobody } = deps

  /** Engines of one region or of all, whether they answer now or not. */
  function enginesIn(regionCode: string | null): KnownEngine[] {
    return fleet
      .engines()
      .filter(({ facts }) => regionCode === null || facts?.region_codes.includes(regionCode))
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
   * The image that is meant, as far as it can be made in a region, or anywhere when that is null.
   * @throws ApiError `image_unknown`.
   */
  function find(choice: ImageChoice, regionCode: string | null = null): FoundImage {
    if (choice.imageReference !== null) return findReference(choice, choice.imageReference, regionCode)
    const entry = entryOf(choice.imageId)
    const reason = unavailableReason(entry, enginesIn(regionCode))
    return { ...toImage(entry, reason), recipe: toRecipe(entry), access }
  }

  /** An image of any registry, of which nothing is known but where it is. */
  function findReference(choice: ImageChoice, reference: string, regionCode: string | null): FoundImage {
    const entry = { kind: 'POD', recipe: partsOfReference(reference) } as const
    const reason = unavailableReason(entry, enginesIn(regionCode))
    const { userId, registryCredentialId: credentialId } = choice
    return {
      name: reference,
      kind: entry.kind,
      size: 0,
      available: reason === null,
      unavailable_reason: reason,
      recipe: { id: reference, parts: entry.recipe, owner: userId },
      access: customerAccess({ userId, credentialId }),
    }
  }

  /**
   * Whether engines of a driver of that name can make an image.
   * @throws ApiError `image_unknown`.
   */
  function makes(
    { imageId, imageReference }: Pick<ImageChoice, 'imageId' | 'imageReference'>,
    driver: string,
  ) {
    const recipe = imageReference === null ? entryOf(imageId).recipe : partsOfReference(imageReference)
    return canMake({ recipe }, driver)
  }

  function entryOf(id: string | null): CatalogueImage {
    const entry = catalogue.images.find(image => image.id === id)
    if (!entry) throw new ApiError('image_unknown', { fields: [{ path: 'image_id', rule: 'not_allowed' }] })
    return entry
  }

  /** Null when it can be made; else a key of the console's texts: none of those that can answers, or there are none. */
  function unavailableReason(
    entry: Pick<CatalogueImage, 'kind' | 'recipe'>,
    engines: KnownEngine[],
  ): string | null {
    const makers = engines.filter(
      ({ driver, facts }) => facts?.kinds.includes(entry.kind) === true && canMake(entry, driver),
    )
    if (makers.some(({ id }) => fleet.isReached(id))) return null
    const isForNow = makers.length > 0 || !engines.some(({ id }) => fleet.isReached(id))
    return isForNow ? 'no_driver' : 'not_on_engine'
  }

  /** Each driver makes an image from its own part of the recipe; one that no recipe speaks to needs none. */
  function canMake({ recipe }: Pick<CatalogueImage, 'recipe'>, driver: string): boolean {
    return driver in recipe || !catalogue.images.some(image => driver in image.recipe)
  }

  const gallery = createGallery({
    ...deps,
    unavailableReason: ({ kind, driver }, regionCode) =>
      unavailableReason({ kind, recipe: { [driver]: {} } }, enginesIn(regionCode)),
  })

  /** The page of an image (R1.2). @throws ApiError `not_found`, as well for another customer's own. */
  async function detail(userId: string | null, id: string): Promise<ImageDetail> {
    const entry = catalogue.images.find(image => image.id === id)
    if (!entry) return gallery.detail(userId, id)
    const shown = toImage(entry, unavailableReason(entry, enginesIn(null)))
    return { ...shown, readme: '', versions: [], own: null, custom_image_id: null }
  }

  return {
    official,
    find,
    makes,
    detail,
    community: gallery.community,
    own: gallery.own,
    price: gallery.price,
  }
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
    min_disk_gb: Math.ceil(entry.size_mb / MB_PER_GB),
    preloaded_models: '',
    start_command: '',
    image_reference: null,
    author: null,
    cover_url: null,
    stars: 0,
    starred: false,
    deploys: 0,
    deploys_week: 0,
    updated_at: null,
    available: unavailable_reason === null,
    unavailable_reason,
    drivers: Object.keys(entry.recipe),
  }
}
