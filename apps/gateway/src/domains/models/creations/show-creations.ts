import {
  type Creation,
  type CreationFile,
  type CreationItem,
  creation as creationEntity,
  creationItem as itemEntity,
} from '@berth/contract/creations'
import { ERRORS, type ErrorCode } from '@berth/contract/errors'
import {
  CREATION_IMAGE_BYTES_MAX,
  CREATION_STORED_BYTES_MAX,
  CREATION_VIDEO_BYTES_MAX,
  type Language,
} from '@berth/contract/limits'
import { asc, eq, inArray, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { CatalogueModel } from '../../../platform/config/catalogue.ts'
import type { Queryable } from '../../../platform/database/database.ts'
import { errorText } from '../../../platform/http/error-texts.ts'
import { wireOf } from '../../../platform/http/wire.ts'
import type { FileAddresses } from './file-addresses.ts'
import type { Item, Run } from './items.ts'
import { creation, creationFile, creationItem } from './tables.ts'

const creationOf = wireOf(creationEntity)
const itemOf = wireOf(itemEntity)
const MB = 1_000_000
const GB = 1_000_000_000

/** How the catalogue's texts, and errors, are said to whoever asks. */
export interface Telling {
  language: Language
  say(english: string): string
}

type FileRow = Pick<typeof creationFile.$inferSelect, 'id' | 'type' | 'bytes'> | null

interface ItemRow {
  item: Item
  file: FileRow
  waitingBefore: number | null
}

/** Puts runs and their items as callers see them. */
export function createShow({
  models,
  addresses,
}: {
  models: readonly CatalogueModel[]
  addresses: Pick<FileAddresses, 'urlOf'>
}) {
  const toFile = (file: FileRow, userId: string): CreationFile | null =>
    file && { id: file.id, url: addresses.urlOf(`${userId}.${file.id}`), type: file.type, bytes: file.bytes }

  function toItem(
    { item, file, waitingBefore }: ItemRow,
    { language }: Pick<Telling, 'language'>,
  ): CreationItem {
    const { status, errorCode, errorReason, percent, frame, frames, kind, modelId } = item
    const bytesMax = kind === 'image' ? CREATION_IMAGE_BYTES_MAX : CREATION_VIDEO_BYTES_MAX
    const code = isErrorCode(errorCode) ? errorCode : 'internal'
    const limit = code === 'creations_full' ? `${CREATION_STORED_BYTES_MAX / GB} GB` : `${bytesMax / MB} MB`
    const values = { reason: errorReason ?? '', limit, model: modelId }
    return itemOf({
      ...item,
      progress: status === 'rendering' || status === 'encoding' ? { percent, frame, frames } : null,
      waitingBefore: status === 'queued' ? waitingBefore : null,
      error: status === 'failed' ? { code, message: errorText(language, code, values) } : null,
      file: toFile(file, item.userId),
    })
  }

  function toCreation(
    { run, image, lastImage }: { run: Run; image: FileRow; lastImage: FileRow },
    items: readonly ItemRow[],
    telling: Telling,
  ): Creation {
    const known = models.find(({ id }) => id === run.modelId)
    return creationOf({
      ...run,
      modelName: known ? telling.say(known.name) : run.modelId,
      source: run.keyId === null ? 'console' : 'api',
      image: toFile(image, run.userId),
      lastImage: toFile(lastImage, run.userId),
      costMicro: items.reduce((sum, { item }) => sum + item.costMicro, 0n),
      items: items.map(row => toItem(row, telling)),
    })
  }

  return {
    toFile,

    /** Runs with their items, in the order of their ids as they are given. */
    async runs(q: Pick<Queryable, 'select'>, ids: readonly string[], telling: Telling): Promise<Creation[]> {
      if (ids.length === 0) return []
      const [image, lastImage] = [alias(creationFile, 'image'), alias(creationFile, 'last_image')]
      const runs = await q
        .select({ run: creation, image, lastImage })
        .from(creation)
        .leftJoin(image, eq(image.id, creation.imageFileId))
        .leftJoin(lastImage, eq(lastImage.id, creation.lastImageFileId))
        .where(inArray(creation.id, [...ids]))
      const items = await readItems(q, ids)
      return ids.flatMap(id => {
        const row = runs.find(({ run }) => run.id === id)
        const own = items.filter(({ item }) => item.creationId === id)
        return row ? [toCreation(row, own, telling)] : []
      })
    },
    toItem,
  }
}
export type Show = ReturnType<typeof createShow>

/** Items of runs, in their order, with how many are before those that wait. */
async function readItems(q: Pick<Queryable, 'select'>, ids: readonly string[]): Promise<ItemRow[]> {
  const waitingBefore = sql<number | null>`case when ${creationItem.status} = 'queued' then (
    select count(*)::int from creation_item as earlier
    where earlier.kind = ${creationItem.kind} and earlier.status in ('queued', 'rendering', 'encoding')
      and (earlier.created_at, earlier.id) < (${creationItem.createdAt}, ${creationItem.id})) end`
  return await q
    .select({ item: creationItem, file: creationFile, waitingBefore })
    .from(creationItem)
    .leftJoin(creationFile, eq(creationFile.id, creationItem.fileId))
    .where(inArray(creationItem.creationId, [...ids]))
    .orderBy(asc(creationItem.creationId), asc(creationItem.number))
}

function isErrorCode(code: string | null): code is ErrorCode {
  return code !== null && code in ERRORS
}
