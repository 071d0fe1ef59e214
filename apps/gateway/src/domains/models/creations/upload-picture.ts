import type { Readable } from 'node:stream'
import type { CreationFile } from '@berth/contract/creations'
import { CREATION_PICTURES_PER_MINUTE_MAX, MODEL_IMAGE_BYTES_MAX } from '@berth/contract/limits'
import { and, desc, eq, inArray } from 'drizzle-orm'
import { createAtOnceEach } from '../../../platform/at-once.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { Database } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { CountCall } from '../../../platform/http/rate-counts.ts'
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
/** Those that a form shows, and some that were changed for others; with another, the oldest goes. */
const WAITING_MAX = 20
const AT_ONCE_MAX = 2

/** What models are given. */
const TYPES: readonly (string | null)[] = ['image/png', 'image/jpeg', 'image/webp', 'image/gif']

interface UploadDeps {
  db: Database
  clock: Clock
  files: Pick<KeptFiles, 'take' | 'settle' | 'removeUnusedOf'>
  show: Pick<Show, 'toFile'>
  /** Counts a customer's pictures, over all gateways. */
  countUpload: CountCall
}

/** Takes pictures that others are to be made after. Of their bytes the first ones are looked at, and nothing is decoded. */
export function createPictureUploads({ db, clock, files, show, countUpload }: UploadDeps) {
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
          if (!TYPES.includes(type)) throw fieldError(field, 'picture_type')
          return type ?? ''
        },
      })
      .catch((error: unknown) => {
        throw error instanceof FileTooLarge ? fieldError(field, 'picture_too_large') : error
      })
    return await db.transaction(async tx => {
      await forCustomer(tx, userId)
      const fileId = await files.settle(tx, userId, come)
      const at = clock.now()
      await tx
        .insert(creationUpload)
        .values({ userId, fileId, at })
        .onConflictDoUpdate({ target: [creationUpload.userId, creationUpload.fileId], set: { at } })
      const tooMany = tx
        .select({ fileId: creationUpload.fileId })
        .from(creationUpload)
        .where(eq(creationUpload.userId, userId))
        .orderBy(desc(creationUpload.at))
        .offset(WAITING_MAX)
      const pushedOut = await tx
        .delete(creationUpload)
        .where(and(eq(creationUpload.userId, userId), inArray(creationUpload.fileId, tooMany)))
        .returning({ fileId: creationUpload.fileId })
      await files.removeUnusedOf(
        tx,
        pushedOut.map(({ fileId: id }) => id),
      )
      const [row] = await tx.select().from(creationFile).where(eq(creationFile.id, fileId))
      const file = show.toFile(row ?? null, userId)
      if (!file) throw new Error(`the file ${fileId} is gone while it is held`)
      return file
    })
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
  }

  return {
    /**
     * @param body The file as it comes.
     * @throws ApiError `validation_failed` {picture_type, picture_too_large}, `too_many_requests`, `creations_full`.
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
