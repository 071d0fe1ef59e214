import { createHash } from 'node:crypto'
import { and, asc, eq, isNull } from 'drizzle-orm'
import type { Clock } from '../../platform/clock.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import type { Ids } from '../../platform/ids.ts'
import type { Billing } from '../billing/billing.ts'
import { imageNews } from './events.ts'
import type { CommunityRow } from './gallery.ts'
import { changeImage, type ImageChangeDeps, type OwnImageRow, reviewBy } from './image-states.ts'
import { isPublished } from './own-images.ts'
import { communityImage, communityImageVersion, ownImage } from './tables.ts'

/** Images that the queue shows. */
const QUEUE_MAX = 200
/** Nobody finds two images of which these are the same. */
const SEEN_CHARS = 32

export interface ReviewDeps {
  db: Database
  clock: Clock
  ids: Ids
  billing: ImageChangeDeps['billing'] & Pick<Billing, 'lockWallet'>
  events: ImageChangeDeps['events']
  /** What an account is called on pages; null where it is gone. */
  nameOf(userId: string): Promise<string | null>
  /** What customers said of an image of the community has been looked at. */
  closeReports(communityId: string, tx: Transaction): Promise<unknown>
  /** There is something to do. */
  wake(): void
}

/** An image as its reviewer sees it. */
export type Reviewed = Pick<
  OwnImageRow,
  | 'id'
  | 'userId'
  | 'name'
  | 'description'
  | 'kind'
  | 'tags'
  | 'regionCode'
  | 'versionInfo'
  | 'preloadedModels'
  | 'startCommand'
  | 'httpPorts'
  | 'tcpPorts'
  | 'minVramGb'
  | 'readme'
  | 'cover'
  | 'status'
  | 'number'
  | 'sizeBytes'
  | 'digest'
  | 'sourceReference'
  | 'communityId'
  | 'versionOf'
> & {
  author: string | null
  reviewSince: Date | null
  reviewBy: Date | null
  /** Stands for all that the community would get of it: another one after any change. */
  seen: string
}

/** What the operator does with images that customers publish (R4.8, R6.5). */
export function createReview(deps: ReviewDeps) {
  const { db, clock, ids, billing } = deps

  async function withLocks(
    id: string,
    run: (tx: Transaction, row: OwnImageRow, at: Date) => Promise<OwnImageRow>,
  ): Promise<Reviewed> {
    const before = await find(id)
    const author = await deps.nameOf(before.userId)
    const row = await db.transaction(async tx => {
      await billing.lockWallet(tx, before.userId)
      const [fresh] = await tx.select().from(ownImage).where(isThere(id)).for('update')
      if (!fresh) throw new ApiError('not_found')
      return run(tx, fresh, clock.now())
    })
    deps.wake()
    return reviewed(row, author)
  }

  /** @throws ApiError `not_found`. */
  async function find(id: string): Promise<OwnImageRow> {
    const [row] = await db.select().from(ownImage).where(isThere(id))
    if (!row) throw new ApiError('not_found')
    return row
  }

  /** @throws ApiError `not_found`. */
  async function copyOf(communityId: string): Promise<CommunityRow> {
    const [copy] = await db
      .select()
      .from(communityImage)
      .where(and(eq(communityImage.id, communityId), isNull(communityImage.withdrawnAt)))
    if (!copy) throw new ApiError('not_found')
    return copy
  }

  return {
    /** Images that wait for an answer, the oldest first. */
    async queue(): Promise<Reviewed[]> {
      const rows = await db
        .select()
        .from(ownImage)
        .where(and(eq(ownImage.status, 'review'), isNull(ownImage.deletedAt)))
        .orderBy(asc(ownImage.reviewSince), asc(ownImage.place))
        .limit(QUEUE_MAX)
      return Promise.all(rows.map(async row => reviewed(row, await deps.nameOf(row.userId))))
    },

    /** An image with all that was said of it. @throws ApiError `not_found`. */
    async show(id: string): Promise<Reviewed> {
      const row = await find(id)
      return reviewed(row, await deps.nameOf(row.userId))
    },

    /**
     * Gives the community the image as its reviewer saw it: a copy of its own, of the same bytes, which takes the place of
     * the version before.
     * @param seen What {@link Reviewed} had then: its customer may have changed it since.
     * @throws ApiError `not_found`, `image_state` or `image_changed`.
     */
    async approve(id: string, seen: string): Promise<Reviewed> {
      const author = await deps.nameOf((await find(id)).userId)
      return withLocks(id, async (tx, row, at) => {
        if (row.status !== 'review') throw new ApiError('image_state', { values: { status: row.status } })
        if (reviewed(row, author).seen !== seen) throw new ApiError('image_changed')
        const earlier = row.versionOf === null ? null : await lockVersion(tx, row, row.versionOf)
        // Of two that were sent as the same version, the later one is the next.
        const number = Math.max(row.number, (earlier?.number ?? 0) + 1)
        if (earlier) await replace(tx, earlier, row, at)
        const communityId = await publish(tx, { ...row, number }, { author, at, newId: ids.imageId() })
        return changeImage(tx, deps, row, {
          status: 'community',
          at,
          news: 'published',
          patch: { communityId, number, versionOf: null, reviewSince: null },
        })
      })
    },

    /** Refuses an image: it stays its customer's own. @throws ApiError `not_found` or `image_state`. */
    reject: (id: string, reason: string): Promise<Reviewed> =>
      withLocks(id, async (tx, row, at) => {
        if (row.status !== 'review') throw new ApiError('image_state', { values: { status: row.status } })
        return changeImage(tx, deps, row, {
          status: 'refused',
          at,
          reason: { code: 'refused', detail: reason },
          news: 'refused',
          patch: { reviewSince: null },
        })
      }),

    /** What the community has by that id. @throws ApiError `not_found`. */
    async inCommunity(communityId: string): Promise<{ id: string; name: string; authorId: string | null }> {
      return await copyOf(communityId)
    },

    /**
     * Takes an image off the community. Machines that run it go on; its customer's own image stays.
     * @param communityId The community's id of it, since its customer's may be gone.
     * @returns What it was called.
     * @throws ApiError `not_found`.
     */
    async takeDown(communityId: string, reason: string): Promise<{ id: string; name: string }> {
      const copy = await copyOf(communityId)
      await db.transaction(async tx => {
        const at = clock.now()
        if (copy.authorId !== null) await billing.lockWallet(tx, copy.authorId)
        const [origin] = await tx.select().from(ownImage).where(isThere(copy.originId)).for('update')
        await tx.update(communityImage).set({ withdrawnAt: at }).where(eq(communityImage.id, communityId))
        await deps.closeReports(communityId, tx)
        if (!origin || !['community', 'review', 'refused'].includes(origin.status)) {
          if (copy.authorId !== null) {
            await deps.events.emit(tx, imageNews, {
              userId: copy.authorId,
              at: at.toISOString(),
              news: 'taken_down',
              image: { id: copy.id, name: copy.name },
              detail: reason,
              until: null,
            })
          }
          return
        }
        await changeImage(tx, deps, origin, {
          status: 'refused',
          at,
          reason: { code: 'taken_down', detail: reason },
          news: 'taken_down',
          patch: { communityId: null, reviewSince: null },
        })
      })
      deps.wake()
      return { id: copy.id, name: copy.name }
    },
  }

  /** What the community has of the image that this one is a version of; null where it has none any more. */
  async function lockVersion(
    tx: Transaction,
    { userId }: OwnImageRow,
    versionOf: string,
  ): Promise<CommunityRow | null> {
    const [copy] = await tx.select().from(communityImage).where(isPublished(userId, versionOf)).for('update')
    return copy ?? null
  }

  /**
   * Has the community's image belong to its next version: whoever stars, deploys or links to it goes on with the same. What
   * it was made of before is its customer's own again, and bytes that nobody else wants go.
   */
  async function replace(tx: Transaction, copy: CommunityRow, next: OwnImageRow, at: Date): Promise<void> {
    const { place: _, ...before } = copy
    await tx.update(communityImage).set({ originId: next.id }).where(eq(communityImage.id, copy.id))
    if (copy.digest !== next.digest) {
      // A row of its own names the bytes until they are gone, as of one that was taken off.
      const id = ids.imageId()
      await tx.insert(communityImage).values({ ...before, id, originId: id, cover: null, withdrawnAt: at })
    }
    const [origin] = await tx.select().from(ownImage).where(isThere(copy.originId)).for('update')
    if (!origin || !['community', 'review', 'refused'].includes(origin.status)) return
    await changeImage(tx, deps, origin, {
      status: 'private',
      at,
      patch: { communityId: null, reviewSince: null },
    })
  }

  /** @returns The id that the community has it by. */
  async function publish(
    tx: Transaction,
    row: OwnImageRow,
    { author, at, newId }: { author: string | null; at: Date; newId: string },
  ): Promise<string> {
    const said = {
      authorId: row.userId,
      authorName: author,
      ...saidAndKept(row),
      number: row.number,
      updatedAt: at,
    }
    const [copy] = await tx
      .insert(communityImage)
      .values({ id: newId, originId: row.id, createdAt: at, ...said })
      .onConflictDoUpdate({
        target: communityImage.originId,
        set: { ...said, withdrawnAt: null, deletedAt: null, isRemoving: false },
      })
      .returning()
    if (!copy) throw new Error('an insert gave no row')
    const { versionInfo, sizeBytes, number } = row
    await tx
      .insert(communityImageVersion)
      .values({ imageId: copy.id, number, versionInfo, sizeBytes, createdAt: at })
      .onConflictDoNothing()
    return copy.id
  }
}

function reviewed(row: OwnImageRow, author: string | null): Reviewed {
  const seen = createHash('sha256').update(JSON.stringify([author, saidAndKept(row)]))
  return { ...row, author, reviewBy: reviewBy(row), seen: seen.digest('hex').slice(0, SEEN_CHARS) }
}

function saidAndKept(row: OwnImageRow): Pick<CommunityRow, SharedColumn> {
  const {
    name,
    description,
    tags,
    regionCode,
    kind,
    versionInfo,
    preloadedModels,
    startCommand,
    httpPorts,
    tcpPorts,
    minVramGb,
    readme,
    cover,
    driver,
    builtId,
    parts,
    digest,
    sizeBytes,
    sourceReference,
  } = row
  return {
    ...{ name, description, tags, regionCode, kind, versionInfo, preloadedModels, startCommand },
    ...{
      httpPorts,
      tcpPorts,
      minVramGb,
      readme,
      cover,
      driver,
      builtId,
      parts,
      digest,
      sizeBytes,
      sourceReference,
    },
  }
}

/** Columns that the community's copy has of what it was made from. */
type SharedColumn = Exclude<
  keyof OwnImageRow & keyof CommunityRow,
  'id' | 'place' | 'number' | 'createdAt' | 'updatedAt' | 'deletedAt' | 'isRemoving'
>

const isThere = (id: string) => and(eq(ownImage.id, id), isNull(ownImage.deletedAt))
