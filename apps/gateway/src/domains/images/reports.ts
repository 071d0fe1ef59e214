import { IMAGE_REPORTS_MAX } from '@berth/contract/limits'
import type { ReportImageBody } from '@berth/contract/own-images'
import { and, asc, count, desc, eq, isNull, min, ne, or } from 'drizzle-orm'
import type { Clock } from '../../platform/clock.ts'
import type { Database, Queryable } from '../../platform/database/database.ts'
import { lockForUser } from '../../platform/database/user-lock.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import { forCustomer } from '../customers/customers.ts'
import { communityImage, imageReport } from './tables.ts'

/** Images that an operator is shown at once, and reports of one of them. */
const IMAGES_SHOWN_MAX = 200
const REPORTS_SHOWN_MAX = 100

/** An image of the community that somebody has reported. */
export interface ReportedImage {
  id: string
  name: string
  author: string | null
  /** Accounts that have. */
  reports: number
  /** The first of them that nobody has looked at. */
  since: Date
}

/** What one account said. */
export interface ImageReport {
  kind: ReportImageBody['kind']
  text: string
  at: Date
}

/** What customers find wrong with images of the community, until an operator takes one down or finds nothing wrong. */
export function createReports({ db, clock }: { db: Database; clock: Clock }) {
  const live = and(isNull(communityImage.withdrawnAt), isNull(communityImage.deletedAt))

  return {
    /**
     * Keeps what an account says of somebody else's image; what it said before is replaced.
     * @throws ApiError `not_found`, for their own too, or `image_report_limit`.
     */
    async report(
      userId: string,
      imageId: string,
      said: ReportImageBody,
    ): Promise<{ id: string; reported_at: string }> {
      const at = clock.now()
      await db.transaction(async tx => {
        await forCustomer(tx, userId)
        await lockForUser(tx, 'image_report', userId)
        const notTheirs = or(isNull(communityImage.authorId), ne(communityImage.authorId, userId))
        const [found] = await tx
          .select({ id: communityImage.id })
          .from(communityImage)
          .where(and(eq(communityImage.id, imageId), live, notTheirs))
        if (!found) throw new ApiError('not_found')
        const [others] = await tx
          .select({ count: count() })
          .from(imageReport)
          .where(and(eq(imageReport.userId, userId), ne(imageReport.imageId, imageId)))
        if ((others?.count ?? 0) >= IMAGE_REPORTS_MAX)
          throw new ApiError('image_report_limit', { values: { limit: IMAGE_REPORTS_MAX } })
        const row = { imageId, userId, ...said, at }
        const target = [imageReport.imageId, imageReport.userId]
        await tx.insert(imageReport).values(row).onConflictDoUpdate({ target, set: row })
      })
      return { id: imageId, reported_at: at.toISOString() }
    },

    /** Images that were reported, those of the most accounts first. */
    reported: (): Promise<ReportedImage[]> =>
      db
        .select({
          id: communityImage.id,
          name: communityImage.name,
          author: communityImage.authorName,
          reports: count(),
          since: min(imageReport.at).mapWith(imageReport.at),
        })
        .from(imageReport)
        .innerJoin(communityImage, eq(communityImage.id, imageReport.imageId))
        .where(live)
        .groupBy(communityImage.id)
        .orderBy(desc(count()), asc(min(imageReport.at)))
        .limit(IMAGES_SHOWN_MAX),

    /** What is said of one of them, the oldest first. */
    of: (imageId: string): Promise<ImageReport[]> =>
      db
        .select({ kind: imageReport.kind, text: imageReport.text, at: imageReport.at })
        .from(imageReport)
        .where(eq(imageReport.imageId, imageId))
        .orderBy(asc(imageReport.at))
        .limit(REPORTS_SHOWN_MAX),

    /**
     * An operator has looked at an image: what was said of it is forgotten.
     * @returns How much that was.
     */
    async close(imageId: string, q: Queryable = db): Promise<number> {
      const gone = await q
        .delete(imageReport)
        .where(eq(imageReport.imageId, imageId))
        .returning({ userId: imageReport.userId })
      return gone.length
    },
  }
}
