import type { Readable } from 'node:stream'
import { coverUrlOf } from '@berth/contract/covers'
import { COVERS_PER_MINUTE_MAX } from '@berth/contract/limits'
import type { ImageCover } from '@berth/contract/own-images'
import { and, desc, eq, inArray, isNull, lt, notExists, sql } from 'drizzle-orm'
import type { Logger } from 'pino'
import { createAtOnce } from '../../../platform/at-once.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import { sha256Hex } from '../../../platform/hash.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { CountCall } from '../../../platform/http/rate-counts.ts'
import { forCustomer } from '../../customers/customers.ts'
import { communityImage, imageCover, imageCoverUpload, ownImage } from '../tables.ts'
import { readSent } from './read-sent.ts'
import { coverFault, type RemadeCover, remakeCover } from './remake-cover.ts'

/** So long a cover that was sent waits for an image to have it. */
const WAITS_MS = 86_400_000
/** As many wait for one customer; with another, the oldest goes. */
export const WAITING_PER_USER_MAX = 10
/** Pictures that one gateway draws at a time, and that wait for it: each of them is held in memory. */
const DRAWN_AT_ONCE_MAX = 2
export const HELD_MAX = 20
/** Where all places are taken, so long somebody has to send a picture in peace: a usual one comes in a second. */
const GRACE_MS = 3_000
const MINUTE_MS = 60_000
const ROUND_ROWS_MAX = 100

export interface CoversDeps {
  db: Database
  clock: Clock
  log: Pick<Logger, 'warn'>
  /** Counts a customer's uploads, over all gateways. */
  countUpload: CountCall
}

/** A customer's picture that is held. */
interface Held {
  sinceMs: number
  /** Aborted where somebody else needs the place. */
  leaving: AbortController
  /** It has come whole: what is left is our work. */
  isWhole: boolean
}

/** Covers of images: pictures of customers', drawn anew and kept by what they come to (R5.6). */
export function createCovers({ db, clock, log, countUpload }: CoversDeps) {
  const drawing = createAtOnce(DRAWN_AT_ONCE_MAX)
  /** By customer, the oldest first. */
  const held = new Map<string, Held>()
  const stopping = new AbortController()

  /**
   * Makes room for one more picture: the one goes that has been on its way longest, so that whoever sends a byte at a time
   * keeps nobody out. @throws ApiError `unavailable` where all are our work, or have begun a moment ago.
   */
  function makeRoom(): void {
    if (held.size < HELD_MAX) return
    const before = clock.now().getTime() - GRACE_MS
    const slow = [...held].find(([, { isWhole, sinceMs }]) => !isWhole && sinceMs <= before)
    if (!slow) throw new ApiError('unavailable')
    const [userId, { leaving }] = slow
    held.delete(userId)
    leaving.abort(new ApiError('unavailable'))
  }

  /** Lets a customer send one picture at a time, and so many a minute. @throws ApiError `too_many_requests`, `unavailable`. */
  async function inTurn<T>(userId: string, run: (own: Held) => Promise<T>): Promise<T> {
    if (held.has(userId)) throw new ApiError('too_many_requests', { values: { seconds: 1 } })
    makeRoom()
    const own = { sinceMs: clock.now().getTime(), leaving: new AbortController(), isWhole: false }
    held.set(userId, own)
    try {
      const { current, ttlMs } = await countUpload(userId, {
        max: COVERS_PER_MINUTE_MAX,
        windowMs: MINUTE_MS,
      })
      if (current > COVERS_PER_MINUTE_MAX) {
        const seconds = Math.max(1, Math.ceil(ttlMs / 1_000))
        throw new ApiError('too_many_requests', { values: { seconds } })
      }
      return await run(own)
    } finally {
      if (held.get(userId) === own) held.delete(userId)
    }
  }

  async function keep(userId: string, { webp, width, height }: RemadeCover): Promise<string> {
    const digest = sha256Hex(webp)
    const at = clock.now()
    await db.transaction(async tx => {
      await forCustomer(tx, userId)
      await tx
        .insert(imageCover)
        .values({ digest, webp, width, height, createdAt: at })
        // Takes its row: whoever removes it has done so by now, or lets it be.
        .onConflictDoUpdate({ target: imageCover.digest, set: { width } })
      await tx
        .insert(imageCoverUpload)
        .values({ digest, userId, at })
        .onConflictDoUpdate({ target: [imageCoverUpload.userId, imageCoverUpload.digest], set: { at } })
      const tooMany = tx
        .select({ digest: imageCoverUpload.digest })
        .from(imageCoverUpload)
        .where(eq(imageCoverUpload.userId, userId))
        .orderBy(desc(imageCoverUpload.at))
        .offset(WAITING_PER_USER_MAX)
      await tx
        .delete(imageCoverUpload)
        .where(and(eq(imageCoverUpload.userId, userId), inArray(imageCoverUpload.digest, tooMany)))
    })
    return digest
  }

  return {
    /**
     * Takes a picture that a customer sends, which then waits for a day for an image to have it.
     * @param body The file.
     * @throws ApiError `too_many_requests`, `unavailable`, or `validation_failed` {cover_type, cover_too_large,
     *   cover_too_small, cover_pixels, cover_broken}.
     */
    uploadCover: (userId: string, body: Readable): Promise<ImageCover> =>
      inTurn(userId, async own => {
        const sent = await readSent(body, own.leaving.signal)
        own.isWhole = true
        const made = await drawing(() => remakeCover(sent, log, stopping.signal))
        const cover = await keep(userId, made)
        return { cover, width: made.width, height: made.height, cover_url: coverUrlOf(cover) }
      }),

    /**
     * Makes sure that a customer may give an image a cover: they have sent it within a day, or have an image that has it.
     * It stays at least until the transaction ends.
     * @throws ApiError `validation_failed` {cover_unknown}, as well for another customer's (R6.4).
     */
    async requireCover(tx: Transaction, userId: string, cover: string | null): Promise<void> {
      if (cover === null) return
      const [kept] = await tx
        .select({ digest: imageCover.digest })
        .from(imageCover)
        .where(eq(imageCover.digest, cover))
        .for('share')
      if (!kept) throw coverFault('cover_unknown')
      const [sent] = await tx
        .select({ digest: imageCoverUpload.digest })
        .from(imageCoverUpload)
        .where(and(eq(imageCoverUpload.userId, userId), eq(imageCoverUpload.digest, cover)))
      const [had] = await tx
        .select({ id: ownImage.id })
        .from(ownImage)
        .where(and(eq(ownImage.userId, userId), eq(ownImage.cover, cover), isNull(ownImage.deletedAt)))
        .limit(1)
      if (!sent && !had) throw coverFault('cover_unknown')
    },

    /** A cover's WebP; null where there is none. */
    async findCover(digest: string): Promise<Buffer | null> {
      const [row] = await db
        .select({ webp: imageCover.webp })
        .from(imageCover)
        .where(eq(imageCover.digest, digest))
      return row?.webp ?? null
    },

    /**
     * Removes covers that no image has and that nobody has sent within a day. Any number of gateways may do so at once, and
     * while others are given to images: it takes their rows first, and looks again under that lock.
     */
    async removeUnused(): Promise<void> {
      // Asked at each round of the loop: most have nothing to do.
      const [any] = await db.select({ digest: imageCover.digest }).from(imageCover).limit(1)
      if (!any) return
      const before = new Date(clock.now().getTime() - WAITS_MS)
      await db.delete(imageCoverUpload).where(lt(imageCoverUpload.at, before))
      await db.transaction(async tx => {
        const isUnused = unused(tx)
        const rows = await tx
          .select({ digest: imageCover.digest })
          .from(imageCover)
          .where(isUnused)
          .limit(ROUND_ROWS_MAX)
          .for('update', { skipLocked: true })
        if (rows.length === 0) return
        const digests = rows.map(({ digest }) => digest)
        await tx.delete(imageCover).where(and(inArray(imageCover.digest, digests), isUnused))
      })
    },

    /** Ends what is drawn. */
    stop(): void {
      stopping.abort()
    },
  }
}

export type Covers = ReturnType<typeof createCovers>

function unused(tx: Transaction) {
  const one = { one: sql`1` }
  const uploads = tx.select(one).from(imageCoverUpload).where(eq(imageCoverUpload.digest, imageCover.digest))
  const own = tx
    .select(one)
    .from(ownImage)
    .where(and(eq(ownImage.cover, imageCover.digest), isNull(ownImage.deletedAt)))
  const shared = tx
    .select(one)
    .from(communityImage)
    .where(and(eq(communityImage.cover, imageCover.digest), isNull(communityImage.withdrawnAt)))
  return and(notExists(uploads), notExists(own), notExists(shared))
}
