import { and, count, eq, isNull, ne, or } from 'drizzle-orm'
import type { Clock } from '../../platform/clock.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import { forCustomer } from '../customers/customers.ts'
import { communityImage, imageDeploy, imageStar } from './tables.ts'

/** What is said of an image's stars. */
interface Stars {
  id: string
  stars: number
  starred: boolean
}

/** What customers think of the community's images, which no account can say twice. */
export function createApplause({ db, clock }: { db: Database; clock: Clock }) {
  const live = isNull(communityImage.withdrawnAt)

  async function setStar(userId: string, imageId: string, starred: boolean): Promise<Stars> {
    return db.transaction(async tx => {
      await forCustomer(tx, userId)
      const [found] = await tx
        .select({ id: communityImage.id })
        .from(communityImage)
        .where(and(eq(communityImage.id, imageId), live))
      if (!found) throw new ApiError('not_found')
      const row = { imageId, userId, at: clock.now() }
      if (starred) await tx.insert(imageStar).values(row).onConflictDoNothing()
      else await tx.delete(imageStar).where(and(eq(imageStar.imageId, imageId), eq(imageStar.userId, userId)))
      const [stars] = await tx
        .select({ stars: count() })
        .from(imageStar)
        .where(eq(imageStar.imageId, imageId))
      return { id: imageId, stars: stars?.stars ?? 0, starred }
    })
  }

  return {
    /** Gives an image of the community the account's one star. @throws ApiError `not_found`. */
    star: (userId: string, imageId: string): Promise<Stars> => setStar(userId, imageId, true),
    /** Takes it back. @throws ApiError `not_found`. */
    unstar: (userId: string, imageId: string): Promise<Stars> => setStar(userId, imageId, false),

    /** Counts a deploy: of an image of the community, by somebody else than its author, once for each account and day. */
    async noteDeploy(
      tx: Transaction,
      { imageId, userId, at }: { imageId: string | null; userId: string; at: Date },
    ) {
      if (imageId === null) return
      const [found] = await tx
        .select({ id: communityImage.id })
        .from(communityImage)
        .where(
          and(
            eq(communityImage.id, imageId),
            or(isNull(communityImage.authorId), ne(communityImage.authorId, userId)),
          ),
        )
      if (!found) return
      const day = at.toISOString().slice(0, 10)
      await tx.insert(imageDeploy).values({ imageId, userId, day }).onConflictDoNothing()
    },
  }
}
