import type { Readable } from 'node:stream'
import type { CreationFile } from '@berth/contract/creations'
import { CREATION_PICTURES_PER_MINUTE_MAX, MODEL_IMAGE_BYTES_MAX } from '@berth/contract/limits'
import { hasFewPixels, pictureHeadBytes, pictureSize } from '@berth/contract/picture-size'
import { and, desc, eq, inArray, sql } from 'drizzle-orm'
import { createAtOnceEach } from '../../../platform/at-once.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { Database, Queryable, Transaction } from '../../../platform/database/database.ts'
import { lockForUser } from '../../../platform/database/user-lock.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { CountCall } from '../../../platform/http/rate-counts.ts'
import type { Billing } from '../../billing/billing.ts'
import { forCustomer } from '../../customers/customers.ts'
import { fieldError } from '../calls/asked-json.ts'
import { requireRoom } from './ask-creations.ts'
import { pictureTypeOf } from './file-types.ts'
import { FileTooLarge, type KeptFiles } from './kept-files.ts'
import type { Show } from './show-creations.ts'
import { creationFile, creationUpload } from './tables.ts'

/** A picture of the most bytes comes within that by any line that a console is used on. */
const READ_MS_MAX = 120_000
const MINUTE_MS = 60_000
/**
 * What of one customer waits to be used: those that a form shows, and some that were changed for others; less without money,
 * since accounts cost nothing. With more, the oldest go.
 */
const WAITING = { filesMax: 20, bytesMax: 200_000_000 }
const WAITING_WITHOUT_MONEY = { filesMax: 5, bytesMax: 80_000_000 }
/** While so much of all customers waits, only those send more who have money. */
const WAITING_ALL_BYTES_MAX = 20_000_000_000
const AT_ONCE_MAX = 2

/** What models are given. */
const TYPES: readonly string[] = ['image/png', 'image/jpeg', 'image/webp', 'image/gif']

interface UploadDeps {
  db: Database
  clock: Clock
  billing: Pick<Billing, 'totals'>
  files: Pick<KeptFiles, 'take' | 'settle' | 'removeUnusedOf' | 'readWhole' | 'drop'>
  show: Pick<Show, 'toFile'>
  /** Counts a customer's pictures, over all gateways. */
  countUpload: CountCall
}

/** Takes pictures that others are to be made after. Of their bytes the first ones are looked at, and nothing is decoded. */
export function createPictureUploads({ db, clock, billing, files, show, countUpload }: UploadDeps) {
  const inTurn = createAtOnceEach(AT_ONCE_MAX, {
    waitingMax: AT_ONCE_MAX,
    refuse() {
      throw new ApiError('too_many_requests', { values: { seconds: 1 } })
    },
  })

  async function take(
    userId: string,
    body: AsyncIterable<Buffer> | Iterable<Uint8Array>,
    field: string,
  ): Promise<CreationFile> {
    const come = await files
      .take(body, {
        bytesMax: MODEL_IMAGE_BYTES_MAX,
        typeOf(head) {
          const type = pictureTypeOf(head)
          if (type === null || !TYPES.includes(type)) throw fieldError(field, 'picture_type')
          return type
        },
      })
      .catch((error: unknown) => {
        throw error instanceof FileTooLarge ? fieldError(field, 'picture_too_large') : error
      })
    const head = await files.readWhole(come.id, Math.min(come.bytes, pictureHeadBytes(come.type)))
    if (!hasFewPixels(pictureSize(come.type, head))) {
      await files.drop(come)
      throw fieldError(field, 'picture_pixels')
    }
    return await db.transaction(async tx => {
      await forCustomer(tx, userId)
      // Two that come at once would each see the other's not.
      await lockForUser(tx, 'creation_upload', userId)
      const fileId = await files.settle(tx, userId, come)
      const at = clock.now()
      await tx
        .insert(creationUpload)
        .values({ userId, fileId, at })
        .onConflictDoUpdate({ target: [creationUpload.userId, creationUpload.fileId], set: { at } })
      await pushOut(tx, userId)
      const [row] = await tx.select().from(creationFile).where(eq(creationFile.id, fileId))
      const file = show.toFile(row ?? null, userId)
      if (!file) throw new Error(`the file ${fileId} is gone while it is held`)
      return file
    })
  }

  const hasMoney = async (q: Pick<Queryable, 'select'>, userId: string): Promise<boolean> => {
    const { totalMicro, freeMicro } = await billing.totals(q, userId)
    return totalMicro + freeMicro > 0n
  }

  /** Removes the oldest of what a customer has sent beyond what may wait; the newest stays, whatever it takes. */
  async function pushOut(tx: Transaction, userId: string): Promise<void> {
    const { filesMax, bytesMax } = (await hasMoney(tx, userId)) ? WAITING : WAITING_WITHOUT_MONEY
    const sent = await tx
      .select({ id: creationFile.id, bytes: creationFile.bytes })
      .from(creationUpload)
      .innerJoin(creationFile, eq(creationFile.id, creationUpload.fileId))
      .where(eq(creationUpload.userId, userId))
      .orderBy(desc(creationUpload.at), desc(creationFile.id))
    let all = 0
    const tooMany = sent.flatMap(({ id, bytes }, before) => {
      all += bytes
      return before > 0 && (before >= filesMax || all > bytesMax) ? [id] : []
    })
    if (tooMany.length === 0) return
    await tx
      .delete(creationUpload)
      .where(and(eq(creationUpload.userId, userId), inArray(creationUpload.fileId, tooMany)))
    await files.removeUnusedOf(tx, tooMany)
  }

  /** @throws ApiError `unavailable` to who has no money while too much waits. */
  async function requireWaitingRoom(userId: string): Promise<void> {
    if (await hasMoney(db, userId)) return
    const [waiting] = await db
      .select({ bytes: sql<number>`coalesce(sum(${creationFile.bytes}), 0)::float8`.mapWith(Number) })
      .from(creationUpload)
      .innerJoin(creationFile, eq(creationFile.id, creationUpload.fileId))
    if ((waiting?.bytes ?? 0) >= WAITING_ALL_BYTES_MAX) throw new ApiError('unavailable')
  }

  async function admit(userId: string): Promise<void> {
    const { current, ttlMs } = await countUpload(userId, {
      ...{ max: CREATION_PICTURES_PER_MINUTE_MAX, windowMs: MINUTE_MS },
    })
    if (current > CREATION_PICTURES_PER_MINUTE_MAX) {
      const seconds = Math.max(1, Math.ceil(ttlMs / 1_000))
      throw new ApiError('too_many_requests', { values: { seconds } })
    }
    await requireRoom(db, userId)
    await requireWaitingRoom(userId)
  }

  return {
    /**
     * @param body The file as it comes.
     * @throws ApiError `validation_failed` {picture_type, picture_pixels, picture_too_large}, `too_many_requests`, `creations_full`,
     *   `unavailable`.
     */
    upload: (userId: string, body: Readable): Promise<CreationFile> =>
      inTurn(userId, async () => {
        await admit(userId)
        const late = setTimeout(
          () => body.destroy(new Error('the picture did not come in time')),
          READ_MS_MAX,
        )
        try {
          return await take(userId, body.iterator({ destroyOnReturn: false }), 'image')
        } finally {
          clearTimeout(late)
          // What is left of what was refused flows away, so that its sender reads why.
          body.resume()
        }
      }),

    /** Keeps a picture that came with something else. @param field Where it came. @throws ApiError As {@link upload}. */
    keepPicture: (userId: string, bytes: Uint8Array, field: string): Promise<CreationFile> =>
      inTurn(userId, async () => {
        await admit(userId)
        return await take(userId, [bytes], field)
      }),
  }
}
