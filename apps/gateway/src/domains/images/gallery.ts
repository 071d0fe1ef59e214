import { coverUrlOf } from '@berth/contract/covers'
import {
  type CustomImage,
  customImage,
  type Image,
  type ImageDetail,
  type ImagePrice,
  imageDetail,
  image as imageEntity,
  imageKeeping,
  imagePrice,
  imageVersion,
} from '@berth/contract/images'
import { and, desc, eq, getTableColumns, gt, inArray, isNull, ne, sql, sum } from 'drizzle-orm'
import type { Clock } from '../../platform/clock.ts'
import type { Catalogue } from '../../platform/config/catalogue.ts'
import type { Database, Queryable } from '../../platform/database/database.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import { wireOf } from '../../platform/http/wire.ts'
import { deletedOn } from '../../platform/unpaid.ts'
import type { Billing } from '../billing/billing.ts'
import { gbOf, isBilled, type OwnImageRow, reviewBy, UNPAID_IMAGES } from './image-states.ts'
import {
  communityImage,
  communityImageVersion,
  imageCount,
  imageDeployDay,
  imageStar,
  ownImage,
} from './tables.ts'

export type CommunityRow = typeof communityImage.$inferSelect

const imageOf = wireOf(imageEntity)
const customOf = wireOf(customImage)
const keepingOf = wireOf(imageKeeping)
const detailOf = wireOf(imageDetail)
const versionOf = wireOf(imageVersion)
const priceOf = wireOf(imagePrice)

const DAY_MS = 86_400_000
const BYTES_PER_MB = 1_048_576
/** What the community's list holds at most: the most deployed. */
const COMMUNITY_MAX = 1_000
/** What lists know of an image: all but its long text, a thousand of which would be twenty megabytes for each guest. */
const { readme: _, ...listed } = getTableColumns(communityImage)
/** Newest versions that a page shows. */
const VERSIONS_MAX = 50

export interface GalleryDeps {
  db: Database
  clock: Clock
  catalogue: Pick<Catalogue, 'regions' | 'prices'>
  billing: Pick<Billing, 'costMicro' | 'totals'>
  /** Why no engine of a region makes machines of an image now; null: one does. */
  unavailableReason(image: Pick<OwnImageRow, 'kind' | 'driver'>, regionCode: string): string | null
  /** How many instances of a customer, of those that are not gone, were made from each image. */
  instancesOf(q: Queryable, userId: string): Promise<Map<string, number>>
}

/** What images are shown as: customers' own, and the community's. */
export function createGallery(deps: GalleryDeps) {
  const { db, clock, catalogue, billing } = deps

  function requireRegion(regionCode: string | null): void {
    if (regionCode !== null && !catalogue.regions.some(({ code }) => code === regionCode)) {
      throw new ApiError('region_not_supported')
    }
  }

  /** What lists and pages say of every image. */
  function shared<Row extends Omit<OwnImageRow | CommunityRow, 'readme'>>(row: Row) {
    const reason = deps.unavailableReason(row, row.regionCode)
    return {
      ...row,
      size: Math.ceil(row.sizeBytes / BYTES_PER_MB),
      minDiskGb: gbOf(row),
      imageReference: row.sourceReference,
      coverUrl: row.cover === null ? null : coverUrlOf(row.cover),
      available: reason === null,
      unavailableReason: reason,
      drivers: [row.driver],
    }
  }

  /** Stars and deploys of images of the community, by their ids. */
  async function countsOf(ids: string[], userId: string | null) {
    const weekAgo = new Date(clock.now().getTime() - 7 * DAY_MS).toISOString().slice(0, 10)
    const [counts, weeks, starred] = await Promise.all([
      db.select().from(imageCount).where(inArray(imageCount.imageId, ids)),
      db
        .select({ id: imageDeployDay.imageId, deploys: sum(imageDeployDay.deploys).mapWith(Number) })
        .from(imageDeployDay)
        .where(and(inArray(imageDeployDay.imageId, ids), gt(imageDeployDay.day, weekAgo)))
        .groupBy(imageDeployDay.imageId),
      userId === null
        ? []
        : db
            .select({ id: imageStar.imageId })
            .from(imageStar)
            .where(and(eq(imageStar.userId, userId), inArray(imageStar.imageId, ids))),
    ])
    const countOf = new Map(counts.map(one => [one.imageId, one]))
    const weekOf = new Map(weeks.map(one => [one.id, one.deploys]))
    const theirs = new Set(starred.map(one => one.id))
    return (id: string | null) => ({
      stars: countOf.get(id ?? '')?.stars ?? 0,
      starred: theirs.has(id ?? ''),
      deploys: countOf.get(id ?? '')?.deploys ?? 0,
      deploysWeek: weekOf.get(id ?? '') ?? 0,
    })
  }

  const communityFacts = <Row extends Omit<CommunityRow, 'readme'>>(row: Row) => ({
    ...shared(row),
    type: 'Community' as const,
    author: row.authorName,
  })

  async function ownFacts(userId: string, rows: readonly OwnImageRow[]) {
    const [costs, { currency }, instances, counts] = await Promise.all([
      billing.costMicro(
        db,
        'image',
        rows.map(({ id }) => id),
      ),
      billing.totals(db, userId),
      deps.instancesOf(db, userId),
      countsOf(
        rows.flatMap(({ communityId }) => communityId ?? []),
        userId,
      ),
    ])
    return rows.map(row => ({
      ...shared(row),
      ...counts(row.communityId),
      type: 'Custom' as const,
      author: null,
      reason: row.reasonCode === null ? null : { code: row.reasonCode, detail: row.reasonDetail },
      source: {
        instance_id: row.sourceInstanceId,
        instance_name: row.sourceInstanceName,
        image_reference: row.sourceReference,
        dockerfile: row.sourceDockerfile,
        git: row.sourceGit,
      },
      progress: row.progress && { ...row.progress, build_steps: row.progress.build_steps ?? null },
      version: row.number,
      reviewBy: reviewBy(row),
      communityImageId: row.communityId,
      versionOf: row.versionOf,
      instances: instances.get(row.id) ?? 0,
      currency,
      microPerDay: isBilled(row.status) ? BigInt(gbOf(row)) * row.microPerGbDay : 0n,
      costMicro: costs.get(row.id) ?? 0n,
      deletedOn: deletedOn(row, UNPAID_IMAGES),
    }))
  }

  const live = and(isNull(communityImage.withdrawnAt), isNull(communityImage.deletedAt))

  return {
    /**
     * What the community has, the most deployed first.
     * @param userId Who asks; null: a guest.
     * @throws ApiError `region_not_supported`.
     */
    async community(userId: string | null, regionCode: string | null): Promise<Image[]> {
      requireRegion(regionCode)
      const rows = await db
        .select(listed)
        .from(communityImage)
        .leftJoin(imageCount, eq(imageCount.imageId, communityImage.id))
        .where(and(live, regionCode === null ? undefined : eq(communityImage.regionCode, regionCode)))
        .orderBy(sql`coalesce(${imageCount.deploys}, 0) desc`, desc(communityImage.place))
        .limit(COMMUNITY_MAX)
      if (rows.length === 0) return []
      const counts = await countsOf(
        rows.map(({ id }) => id),
        userId,
      )
      return rows.map(row => imageOf({ ...communityFacts(row), ...counts(row.id) }))
    },

    /** A customer's own images, newest first. @throws ApiError `region_not_supported`. */
    async own(userId: string, regionCode: string | null): Promise<CustomImage[]> {
      requireRegion(regionCode)
      const rows = await db
        .select()
        .from(ownImage)
        .where(
          and(
            eq(ownImage.userId, userId),
            isNull(ownImage.deletedAt),
            regionCode === null ? undefined : eq(ownImage.regionCode, regionCode),
          ),
        )
        .orderBy(desc(ownImage.place))
      return rows.length === 0 ? [] : (await ownFacts(userId, rows)).map(customOf)
    },

    /** One of a customer's own images as the list shows it. */
    async one(row: OwnImageRow): Promise<CustomImage> {
      const [facts] = await ownFacts(row.userId, [row])
      if (!facts) throw new Error('a row gave no image')
      return customOf(facts)
    },

    /**
     * The page of an image of the community, or of one of the caller's own.
     * @throws ApiError `not_found`, as well for another customer's (R6.4).
     */
    async detail(userId: string | null, id: string): Promise<ImageDetail> {
      const [published] = await db
        .select()
        .from(communityImage)
        .where(and(eq(communityImage.id, id), live))
      if (published) {
        const counts = await countsOf([id], userId)
        const isAuthor = userId !== null && published.authorId === userId
        return detailOf({
          ...communityFacts(published),
          ...counts(id),
          versions: await versionsOf(id),
          own: null,
          customImageId: isAuthor && (await isThere(userId, published.originId)) ? published.originId : null,
        })
      }
      const own = userId === null ? undefined : await findOwn(db, userId, id)
      if (!own) throw new ApiError('not_found')
      const [facts] = await ownFacts(own.userId, [own])
      if (!facts) throw new Error('a row gave no image')
      const versions = own.communityId === null ? [] : await versionsOf(own.communityId)
      return detailOf({ ...facts, versions, own: keepingOf(facts), customImageId: null })
    },

    /** What keeping images costs. */
    async price(userId: string): Promise<ImagePrice> {
      const [{ currency }, rows] = await Promise.all([
        billing.totals(db, userId),
        db
          .select()
          .from(ownImage)
          .where(
            and(eq(ownImage.userId, userId), isNull(ownImage.deletedAt), ne(ownImage.status, 'deleting')),
          ),
      ])
      const kept = rows.filter(({ status }) => isBilled(status))
      return priceOf({
        currency,
        microPerGbDay: catalogue.prices.image_micro_per_gb_day,
        microPerDay: kept.reduce((sum, row) => sum + BigInt(gbOf(row)) * row.microPerGbDay, 0n),
        size: Math.ceil(kept.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) / BYTES_PER_MB),
      })
    },
  }

  async function versionsOf(imageId: string) {
    const rows = await db
      .select()
      .from(communityImageVersion)
      .where(eq(communityImageVersion.imageId, imageId))
      .orderBy(desc(communityImageVersion.number))
      .limit(VERSIONS_MAX)
    return rows.map(row => versionOf({ ...row, size: Math.ceil(row.sizeBytes / BYTES_PER_MB) }))
  }

  async function isThere(userId: string, id: string): Promise<boolean> {
    return (await findOwn(db, userId, id)) !== undefined
  }
}

/** One of a customer's own images that is not gone. */
async function findOwn(q: Queryable, userId: string, id: string): Promise<OwnImageRow | undefined> {
  const [row] = await q
    .select()
    .from(ownImage)
    .where(and(eq(ownImage.userId, userId), eq(ownImage.id, id), isNull(ownImage.deletedAt)))
  return row
}
