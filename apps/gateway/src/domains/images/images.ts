import type { Image, ImageDetail } from '@berth/contract/images'
import type { Logger } from 'pino'
import type { Engine } from '../../drivers/compute/port/engine.ts'
import type { ImageRecipe, PullProgress } from '../../drivers/compute/port/images.ts'
import { offered } from '../../drivers/compute/port/part.ts'
import { partsOfReference } from '../../drivers/compute/port/reference-parts.ts'
import { asNobody, type RegistryAccess } from '../../drivers/compute/port/registry-access.ts'
import type { Catalogue, CatalogueImage } from '../../platform/config/catalogue.ts'
import type { Queryable } from '../../platform/database/database.ts'
import type { OpenDatabase } from '../../platform/database/open-database.ts'
import type { Events } from '../../platform/events/events.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import { createLoop } from '../../platform/loop.ts'
import type { Fleet, KnownEngine } from '../fleet/fleet.ts'
import { accountDeleted } from '../identity/events.ts'
import { createApplause } from './applause.ts'
import { coverRoute } from './covers/cover-route.ts'
import { type CoversDeps, createCovers } from './covers/covers.ts'
import { createGallery, type GalleryDeps } from './gallery.ts'
import { bringImage } from './image-maker.ts'
import { IMAGE_CHANNEL } from './image-states.ts'
import { createImageWork, type ImageWorkDeps } from './image-work.ts'
import { buildersAmong, findDeployable, findEver, forgetCustomer, type KeptRow } from './kept-images.ts'
import { createOwnImages, type OwnImagesDeps } from './own-images.ts'
import { createReports } from './reports.ts'
import { createReview, type ReviewDeps } from './review.ts'

export type { ImageReport, ReportedImage } from './reports.ts'
export type { Reviewed } from './review.ts'
export type Images = ReturnType<typeof createImages>

const MB_PER_GB = 1_024
const BYTES_PER_MB = 1_048_576
/** All that is due is looked for this often; what is wanted at once wakes the loop. */
const LOOK_MS = 30_000
/** What was asked for at the same time is done in one round. */
const GATHER_MS = 20
const DUE_MS_MIN = 100

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
  /** What the store has of it; null for what comes from a registry, or is made on the engine itself. */
  kept: KeptRow | null
  /** Whether engines of a driver of that name can make machines of it. */
  makes(driver: string): boolean
}

export interface ImagesDeps
  extends Omit<GalleryDeps, 'unavailableReason'>,
    Omit<OwnImagesDeps, 'show' | 'wake' | 'giveUp' | 'requireCover' | 'git' | 'registries'>,
    CoversDeps,
    Omit<ImageWorkDeps, 'customerAccess' | 'registries'>,
    Omit<ReviewDeps, 'wake' | 'closeReports'> {
  log: Logger
  registries: OwnImagesDeps['registries']
  catalogue: Pick<Catalogue, 'images' | 'regions' | 'prices'>
  billing: GalleryDeps['billing'] & OwnImagesDeps['billing'] & ImageWorkDeps['billing']
  fleet: ImageWorkDeps['fleet'] & OwnImagesDeps['fleet'] & Pick<Fleet, 'engines' | 'isReached'>
  events: Pick<Events, 'emit' | 'on'>
  /** Tells of changes by other gateways; null where there are none. */
  listen: OpenDatabase['listen'] | null
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
  const { db, catalogue, fleet, access = asNobody, customerAccess = () => asNobody } = deps

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
   * The image that a deploy means, as far as it can be made in a region, or anywhere when that is null: one of the catalogue,
   * of a registry, of the customer's own, or of the community.
   * @throws ApiError `image_unknown`, as well for another customer's (R6.4).
   */
  async function find(choice: ImageChoice, regionCode: string | null = null): Promise<FoundImage> {
    const { imageId, userId } = choice
    const kept = imageId === null || isOfficial(imageId) ? null : await findDeployable(db, userId, imageId)
    return kept ? ofKept(kept, regionCode) : ofOthers(choice, regionCode)
  }

  /**
   * The image of an instance, which may have been deleted since.
   * @throws ApiError `image_unknown` where the catalogue has dropped it.
   */
  async function ofInstance(row: ImageChoice, q: Queryable = db): Promise<FoundImage> {
    const { imageId } = row
    const kept = imageId === null || isOfficial(imageId) ? null : await findEver(q, imageId)
    return kept ? ofKept(kept, null) : ofOthers(row, null)
  }

  const isOfficial = (id: string) => catalogue.images.some(image => image.id === id)

  function ofOthers(choice: ImageChoice, regionCode: string | null): FoundImage {
    if (choice.imageReference !== null) return findReference(choice, choice.imageReference, regionCode)
    const entry = entryOf(choice.imageId)
    const reason = unavailableReason(entry, enginesIn(regionCode))
    const makes = (driver: string) => canMake(entry, driver)
    return { ...toImage(entry, reason), recipe: toRecipe(entry), access, kept: null, makes }
  }

  /** An image of the store, in the regions where it is offered. */
  function ofKept(row: KeptRow, regionCode: string | null): FoundImage {
    const isOffered = regionCode === null || row.regionCode === regionCode
    const reason = isOffered ? keptReason(row, enginesIn(regionCode)) : 'not_in_region'
    return {
      name: row.name,
      kind: row.kind,
      size: Math.ceil(row.sizeBytes / BYTES_PER_MB),
      available: reason === null,
      unavailable_reason: reason,
      recipe: { id: row.builtId, parts: row.parts ?? {} },
      access: asNobody,
      kept: row,
      makes: driver => driver === row.driver,
    }
  }

  const keptReason = ({ kind, driver }: Pick<KeptRow, 'kind' | 'driver'>, engines: KnownEngine[]) =>
    reasonAmong(engines, engine => engine.facts?.kinds.includes(kind) === true && engine.driver === driver)

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
      kept: null,
      makes: driver => canMake(entry, driver),
    }
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
    return reasonAmong(
      engines,
      ({ driver, facts }) => facts?.kinds.includes(entry.kind) === true && canMake(entry, driver),
    )
  }

  function reasonAmong(engines: KnownEngine[], makes: (engine: KnownEngine) => boolean): string | null {
    const makers = engines.filter(makes)
    if (makers.some(({ id }) => fleet.isReached(id))) return null
    const isForNow = makers.length > 0 || !engines.some(({ id }) => fleet.isReached(id))
    return isForNow ? 'no_driver' : 'not_on_engine'
  }

  /** Each driver makes an image from its own part of the recipe; one that no recipe speaks to needs none. */
  function canMake({ recipe }: Pick<CatalogueImage, 'recipe'>, driver: string): boolean {
    return driver in recipe || !catalogue.images.some(image => driver in image.recipe)
  }

  const work = createImageWork({ ...deps, customerAccess })
  const covers = createCovers(deps)
  async function run(signal: AbortSignal): Promise<void> {
    await work.run(signal)
    await covers.removeUnused()
  }
  let dueAt: Date | null = null
  const loop = createLoop({
    name: 'images',
    pauseMs: LOOK_MS,
    log: deps.log,
    dueInMs: () => dueAt && Math.max(DUE_MS_MIN, dueAt.getTime() - deps.clock.now().getTime()),
    async run(signal) {
      await run(signal)
      dueAt = await work.nextDue()
    },
  })
  const wake = () => loop.wake(GATHER_MS)
  work.onDone(wake)
  let unlisten = () => {}

  const gallery = createGallery({
    ...deps,
    unavailableReason: (image, regionCode) => keptReason(image, enginesIn(regionCode)),
  })
  const { requireCover } = covers
  const own = createOwnImages({ ...deps, requireCover, show: gallery.one, wake, giveUp: work.giveUp })
  const reports = createReports(deps)
  const review = createReview({ ...deps, wake, closeReports: reports.close })
  deps.events.on(accountDeleted, 'images', (tx, { userId }) => forgetCustomer(tx, userId))

  /** The page of an image (R1.2). @throws ApiError `not_found`, as well for another customer's own. */
  async function detail(userId: string | null, id: string): Promise<ImageDetail> {
    const entry = catalogue.images.find(image => image.id === id)
    if (!entry) return gallery.detail(userId, id)
    const shown = toImage(entry, unavailableReason(entry, enginesIn(null)))
    return { ...shown, readme: '', versions: [], own: null, custom_image_id: null }
  }

  return {
    official,
    /** What the catalogue calls an image; null where it has none of that id. */
    officialName: (id: string): string | null =>
      catalogue.images.find(image => image.id === id)?.name ?? null,
    find,
    ofInstance,
    detail,
    community: gallery.community,
    own: gallery.own,
    price: gallery.price,
    ...own,
    review,
    reports,
    ...createApplause(deps),
    /** Does all that is due now, as the loop does. */
    run,
    uploadCover: covers.uploadCover,
    /** Where covers are served. */
    rawRoutes: [coverRoute(covers)],
    /** Notes which of a customer's images nothing is left to pay for, and says until when they are kept (B4). */
    noteEmptyBalance: work.noteEmptyBalance,
    forgetGateway: work.forgetGateway,
    /** Brings an image of the store to an engine that lacks it. @throws ComputeError. */
    bring: (
      kept: KeptRow,
      engine: Engine,
      onProgress: (progress: PullProgress) => void,
      signal: AbortSignal,
    ): Promise<void> =>
      bringImage(kept, { own: offered(engine.images.own), store: deps.store, onProgress, signal }),
    /** Of those machines the ones by which images are made: they are no instances. */
    buildersAmong: (ids: readonly string[]): Promise<Set<string>> => buildersAmong(db, ids),

    async start(): Promise<void> {
      if (deps.listen) unlisten = await deps.listen(IMAGE_CHANNEL, wake, wake)
      loop.start()
      loop.wake()
    },
    async stop(): Promise<void> {
      unlisten()
      covers.stop()
      await loop.stop()
      await work.stop()
    },
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
    cover: null,
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
