import { and, eq, inArray, isNotNull, isNull } from 'drizzle-orm'
import type { Database, Queryable, Transaction } from '../../platform/database/database.ts'
import type { CommunityRow } from './gallery.ts'
import { isBilled, type OwnImageRow } from './image-states.ts'
import { communityImage, imageCoverUpload, imageDeploy, imageReport, imageStar, ownImage } from './tables.ts'

/** An image that the store keeps, as far as machines are made of it. */
export type KeptRow = Pick<
  OwnImageRow | CommunityRow,
  'id' | 'name' | 'kind' | 'regionCode' | 'driver' | 'builtId' | 'parts' | 'digest' | 'sizeBytes'
>

/** An image that a customer may deploy: one of their own that is kept, or one that the community has; null: none. */
export async function findDeployable(q: Queryable, userId: string, id: string): Promise<KeptRow | null> {
  const [own] = await q
    .select()
    .from(ownImage)
    .where(and(eq(ownImage.id, id), eq(ownImage.userId, userId), isNull(ownImage.deletedAt)))
  if (own) return isBilled(own.status) ? own : null
  const [shared] = await q
    .select()
    .from(communityImage)
    .where(and(eq(communityImage.id, id), isNull(communityImage.withdrawnAt)))
  return shared ?? null
}

/** An image, whosever it is, though it may be gone; null: there never was one. */
export async function findEver(q: Queryable, id: string): Promise<KeptRow | null> {
  const [own] = await q.select().from(ownImage).where(eq(ownImage.id, id))
  if (own) return own
  const [shared] = await q.select().from(communityImage).where(eq(communityImage.id, id))
  return shared ?? null
}

/** Of those machines the ones by which images of registries are made: they have the images' own ids. */
export async function buildersAmong(db: Database, ids: readonly string[]): Promise<Set<string>> {
  const likely = ids.filter(id => id.startsWith('im-'))
  if (likely.length === 0) return new Set()
  const rows = await db
    .select({ id: ownImage.builtId })
    .from(ownImage)
    .where(and(inArray(ownImage.builtId, likely), eq(ownImage.status, 'building')))
  return new Set(rows.map(({ id }) => id))
}

/**
 * Forgets what images say of a customer whose account is deleted, and what the customer has said of others'. The account of
 * one who has images is not deleted: what stays are rows of those that are gone, and what the community has.
 */
export async function forgetCustomer(tx: Transaction, userId: string): Promise<void> {
  const nothing = {
    name: '',
    description: '',
    readme: '',
    versionInfo: '',
    preloadedModels: '',
    startCommand: '',
    cover: null,
  }
  await tx
    .update(ownImage)
    .set({
      ...nothing,
      sourceInstanceName: null,
      sourceReference: null,
      sourceDockerfile: null,
      sourceGit: null,
      reasonDetail: '',
    })
    .where(and(eq(ownImage.userId, userId), isNotNull(ownImage.deletedAt)))
  await tx
    .update(communityImage)
    .set({ authorId: null, authorName: null })
    .where(eq(communityImage.authorId, userId))
  await tx.delete(imageCoverUpload).where(eq(imageCoverUpload.userId, userId))
  await tx.delete(imageReport).where(eq(imageReport.userId, userId))
  await tx.delete(imageStar).where(eq(imageStar.userId, userId))
  await tx.delete(imageDeploy).where(eq(imageDeploy.userId, userId))
}
