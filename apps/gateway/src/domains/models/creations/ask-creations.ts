import { CREATION_STATUSES, creationCan } from '@berth/contract/creation-states'
import type { CreationKind, makeImagesBody, makeVideoBody } from '@berth/contract/creations'
import {
  CREATION_IMAGES_BEGUN_PER_MINUTE_MAX,
  CREATION_IMAGES_STOPPED_PER_HOUR_MAX,
  CREATION_KEPT_DAYS,
  CREATION_OPEN_IMAGES_MAX,
  CREATION_OPEN_VIDEOS_MAX,
  CREATION_RUNS_MAX,
  CREATION_SEED_MAX,
  CREATION_STORED_BYTES_MAX,
  CREATION_VIDEOS_BEGUN_PER_MINUTE_MAX,
  CREATION_VIDEOS_STOPPED_PER_HOUR_MAX,
} from '@berth/contract/limits'
import { and, count, eq, inArray, sql } from 'drizzle-orm'
import type * as z from 'zod'
import type { Clock } from '../../../platform/clock.ts'
import type { CatalogueModel } from '../../../platform/config/catalogue.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { RateCount, RateCounts } from '../../../platform/http/rate-counts.ts'
import type { Ids } from '../../../platform/ids.ts'
import type { Billing } from '../../billing/billing.ts'
import { forCustomer } from '../../customers/customers.ts'
import { fieldError } from '../calls/asked-json.ts'
import type { ModelCaller } from '../calls/call-book.ts'
import type { Desk } from '../calls/desk.ts'
import { type Book, type Item, isOpenItem, ownRun, type Run, STOPPED_WINDOW_MS, stoppedKey } from './items.ts'
import { filesOf } from './kept-files.ts'
import { creation, creationFile, creationItem } from './tables.ts'

const DAY_MS = 86_400_000
const GB = 1_000_000_000
const SEED_BYTES = 4
const OPEN_MAX: Record<CreationKind, number> = {
  image: CREATION_OPEN_IMAGES_MAX,
  video: CREATION_OPEN_VIDEOS_MAX,
}
const MINUTE_MS = 60_000
const BEGUN_PER_MINUTE_MAX: Record<CreationKind, number> = {
  image: CREATION_IMAGES_BEGUN_PER_MINUTE_MAX,
  video: CREATION_VIDEOS_BEGUN_PER_MINUTE_MAX,
}
const STOPPED_PER_HOUR_MAX: Record<CreationKind, number> = {
  image: CREATION_IMAGES_STOPPED_PER_HOUR_MAX,
  video: CREATION_VIDEOS_STOPPED_PER_HOUR_MAX,
}
/** What may be made again. */
const RETRIED = CREATION_STATUSES.filter(status => creationCan('retry', status))
/** A film that begins with one picture and ends with another takes two. */
const FIRST_AND_LAST = 2

export type MakeImages = z.output<typeof makeImagesBody>
export type MakeVideo = z.output<typeof makeVideoBody>

interface AskDeps {
  db: Database
  clock: Clock
  ids: Pick<Ids, 'uuid' | 'secret'>
  book: Book
  desk: Pick<Desk, 'model'>
  billing: Pick<Billing, 'lockWallet'>
  /** Counts what a customer begins and stops, over all gateways. */
  countOrders: ReturnType<RateCounts['within']>
  /** There is something to make. */
  wake(): void
}

/** What one picture or film costs by. */
type Wanted = Pick<Run, 'kind' | 'seconds'>

/** Where pictures and films are asked for: looked at, paid for in advance, and put in line. */
export function createAskCreations(deps: AskDeps) {
  const { db, clock, ids, book, desk, billing, countOrders } = deps

  /** The most that one may cost. */
  const mostOf = ({ kind, seconds }: Wanted) => ({
    ...{ inputTokens: 0, outputTokens: 0 },
    ...(kind === 'image' ? { images: 1 } : { videoSeconds: seconds ?? 0 }),
  })

  /** Begins the calls of so many. A question that is asked once is one call, which stands for all of them. */
  const begin = (
    tx: Transaction,
    { userId, keyId, once = null }: ModelCaller,
    model: CatalogueModel,
    { many, ...wanted }: Wanted & { many: number },
  ): Promise<string[]> =>
    book.beginIn(
      tx,
      userId,
      Array.from({ length: many }, (_, number) => ({
        ...{ keyId, once: number === 0 ? once : null, model, most: mostOf(wanted), streamed: false },
      })),
    )

  /** Takes the customer's locks in their order, under which the rest is counted. @throws ApiError */
  async function admit(tx: Transaction, userId: string, kind: CreationKind, more: number): Promise<void> {
    await forCustomer(tx, userId)
    await billing.lockWallet(tx, userId)
    const [open] = await tx
      .select({ items: count() })
      .from(creationItem)
      .where(and(eq(creationItem.userId, userId), eq(creationItem.kind, kind), isOpenItem()))
    if ((open?.items ?? 0) + more > OPEN_MAX[kind]) {
      throw new ApiError('creations_under_way', { values: { limit: OPEN_MAX[kind] } })
    }
    await requireRoom(tx, userId)
    const [runs] = await tx.select({ runs: count() }).from(creation).where(eq(creation.userId, userId))
    if ((runs?.runs ?? 0) >= CREATION_RUNS_MAX) {
      throw new ApiError('creations_full', { values: { limit: CREATION_RUNS_MAX } })
    }
    const stopped = await countOrders(tx, stoppedKey(kind, userId), { windowMs: STOPPED_WINDOW_MS }, 0)
    if (stopped.current >= STOPPED_PER_HOUR_MAX[kind]) throw tooMany(stopped)
    const begun = await countOrders(tx, `begun ${kind} ${userId}`, { windowMs: MINUTE_MS }, more)
    if (begun.current > BEGUN_PER_MINUTE_MAX[kind]) throw tooMany(begun)
  }

  async function ask(
    caller: ModelCaller,
    model: CatalogueModel,
    run: Omit<Run, 'id' | 'userId' | 'keyId' | 'modelId' | 'createdAt' | 'keptUntil'>,
  ): Promise<{ id: string }> {
    const { userId, keyId } = caller
    const id = ids.uuid()
    const asked = book.inTurn(userId, async tx => {
      await admit(tx, userId, run.kind, run.count)
      await requirePictures(tx, userId, model, run)
      const at = clock.now()
      const keptUntil = new Date(at.getTime() + CREATION_KEPT_DAYS * DAY_MS)
      await tx
        .insert(creation)
        .values({ ...run, id, userId, keyId, modelId: model.id, createdAt: at, keptUntil })
      const calls = await begin(tx, caller, model, { kind: run.kind, seconds: run.seconds, many: run.count })
      await tx.insert(creationItem).values(
        calls.map((callId, number) => ({
          ...{ id: ids.uuid(), creationId: id, userId, kind: run.kind, modelId: model.id, number, callId },
          ...{
            seed: (run.seed + number) % (CREATION_SEED_MAX + 1),
            status: 'queued' as const,
            createdAt: at,
          },
        })),
      )
      return calls[0]
    })
    const first = await asked.catch(error => book.tellRefusal(caller, error))
    if (first !== undefined) caller.onBegun?.(first)
    deps.wake()
    return { id }
  }

  const seedOf = (seed: number | null) =>
    seed ?? Buffer.from(ids.secret(SEED_BYTES), 'base64url').readUInt32LE() & CREATION_SEED_MAX

  return {
    /**
     * Has pictures made, which are kept. The most that they may cost is set aside for all of them, or none is begun.
     * @throws ApiError `validation_failed`, `model_unknown`, `model_kind`, `creations_under_way`, `creations_full`,
     *   `too_many_requests`, and as {@link CallBook.begin}.
     */
    async makeImages(caller: ModelCaller, asked: MakeImages): Promise<{ id: string }> {
      const model = desk.model(asked.model, ['image'])
      if (!model.sizes.includes(asked.size)) throw fieldError('size', 'not_allowed')
      return await ask(caller, model, {
        ...{ kind: 'image', prompt: asked.prompt, negativePrompt: asked.negative_prompt },
        ...{ seed: seedOf(asked.seed), size: asked.size, count: asked.count, seconds: null },
        ...{ imageFileId: asked.image, lastImageFileId: null, mail: false },
      })
    },

    /** Has a film made. @throws ApiError As {@link makeImages}. */
    async makeVideo(caller: ModelCaller, asked: MakeVideo): Promise<{ id: string }> {
      const model = desk.model(asked.model, ['video'])
      if (!model.sizes.includes(asked.size)) throw fieldError('size', 'not_allowed')
      if (!model.video_seconds.includes(asked.seconds)) throw fieldError('seconds', 'not_allowed')
      return await ask(caller, model, {
        ...{ kind: 'video', prompt: asked.prompt, negativePrompt: asked.negative_prompt },
        ...{ seed: seedOf(asked.seed), size: asked.size, count: 1, seconds: asked.seconds },
        ...{ imageFileId: asked.image, lastImageFileId: asked.last_image, mail: asked.mail },
      })
    },

    /**
     * Has one made again that was not made; it is paid for anew.
     * @throws ApiError `not_found`, `creation_state`, and as {@link makeImages}.
     */
    async retry(caller: ModelCaller, itemId: string): Promise<{ id: string }> {
      const { userId } = caller
      const item = await ownItem(db, userId, itemId)
      if (!creationCan('retry', item.status)) throw new ApiError('creation_state')
      const model = desk.model(item.modelId, [item.kind])
      await book.inTurn(userId, async tx => {
        await admit(tx, userId, item.kind, 1)
        const run = await ownRun(tx, userId, item.creationId)
        const [callId] = await begin(tx, caller, model, { kind: item.kind, seconds: run.seconds, many: 1 })
        if (callId === undefined) throw new Error('a call has no id')
        const at = clock.now()
        const [begun] = await tx
          .update(creationItem)
          .set({
            ...{ status: 'queued', callId, createdAt: at, errorCode: null, errorReason: null, percent: 0 },
            ...{ frame: null, frames: null, renderingAt: null, encodingAt: null, endedAt: null },
            ...{ owner: null, leasedUntil: null, attempts: 0, server: null, serverId: null, askedAt: null },
          })
          .where(and(eq(creationItem.id, itemId), inArray(creationItem.status, RETRIED)))
          .returning({ id: creationItem.id })
        // Somebody has had it made again in between: what was begun here goes with the transaction.
        if (!begun) throw new ApiError('creation_state')
      })
      deps.wake()
      return { id: item.creationId }
    },
  }
}

function tooMany({ ttlMs }: Pick<RateCount, 'ttlMs'>): ApiError {
  return new ApiError('too_many_requests', { values: { seconds: Math.max(1, Math.ceil(ttlMs / 1_000)) } })
}

/** An item of a customer's. @throws ApiError `not_found`, as well for another's. */
export async function ownItem(q: Pick<Transaction, 'select'>, userId: string, id: string): Promise<Item> {
  const [item] = await q
    .select()
    .from(creationItem)
    .where(and(eq(creationItem.id, id), eq(creationItem.userId, userId)))
  if (!item) throw new ApiError('not_found')
  return item
}

/** Makes sure that a customer may keep more. @throws ApiError `creations_full` */
export async function requireRoom(tx: Pick<Transaction, 'select'>, userId: string): Promise<void> {
  const stored = await storedBytes(tx, userId)
  if (stored >= CREATION_STORED_BYTES_MAX) {
    throw new ApiError('creations_full', { values: { limit: `${CREATION_STORED_BYTES_MAX / GB} GB` } })
  }
}

/** What all files of a customer take, each once. */
export async function storedBytes(q: Pick<Transaction, 'select'>, userId: string): Promise<number> {
  const files = filesOf(q, userId).as('files')
  const [row] = await q
    .select({ bytes: sql<number>`coalesce(sum(${files.bytes}), 0)::float8`.mapWith(Number) })
    .from(files)
  return row?.bytes ?? 0
}

/** Looks at the pictures that something is made after: that the model takes them, and that they are the customer's. */
async function requirePictures(
  tx: Transaction,
  userId: string,
  { image_input: limits }: Pick<CatalogueModel, 'image_input'>,
  run: Pick<Run, 'imageFileId' | 'lastImageFileId'>,
): Promise<void> {
  const asked = [
    ['image', run.imageFileId, 1],
    ['last_image', run.lastImageFileId, FIRST_AND_LAST],
  ] as const
  for (const [field, fileId, countMin] of asked) {
    if (!fileId) continue
    if (limits === null || limits.count_max < countMin) throw fieldError(field, 'not_allowed')
    const own = filesOf(tx, userId).as('own')
    const [mine] = await tx.select({ id: own.id }).from(own).where(eq(own.id, fileId))
    if (!mine) throw fieldError(field, 'picture_unknown')
    const [file] = await tx.select().from(creationFile).where(eq(creationFile.id, fileId)).for('key share')
    if (!file) throw fieldError(field, 'picture_unknown')
    if (!(limits.types as readonly string[]).includes(file.type)) throw fieldError(field, 'picture_type')
    if (file.bytes > limits.bytes_max) throw fieldError(field, 'picture_too_large')
  }
}
