import { and, eq, inArray, isNull } from 'drizzle-orm'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { notify } from '../../platform/database/open-database.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import { type ActionDeps, act, type Target } from './act/actions.ts'
import { addEvent, INSTANCE_CHANNEL } from './change-status.ts'
import type { InstanceRow } from './rows.ts'
import { instance } from './tables.ts'

/** What an image is made of. */
type Built = Pick<InstanceRow, 'id' | 'name' | 'kind' | 'containerDiskGb'> & { engineId: string }

/**
 * Begins to make an image of a customer's instance (R4.6): it goes on as it was and is shown as `imageBuilding`.
 * @param run The rest, in the same transaction, under the customer's, the wallet's and the row's lock.
 * @param isDone Whether this very call was carried out before, so that there is nothing to do.
 * @throws ApiError `not_found`, `create_image_pod`, `create_image_vm` or `instance_state`; what `run` throws.
 */
export async function beginImage(
  deps: ActionDeps,
  target: Target,
  imageId: string,
  {
    run,
    isDone,
  }: {
    run(tx: Transaction, instance: Built, at: Date): Promise<void>
    isDone(tx: Transaction): Promise<boolean>
  },
): Promise<void> {
  await act(
    deps,
    target,
    'create_image',
    async (tx, row, at) => {
      const { engineId } = row
      if (engineId === null) throw new ApiError('instance_state', { values: { status: row.status } })
      await run(tx, { ...row, engineId }, at)
      const [changed] = await tx
        .update(instance)
        .set({ buildingImageId: imageId })
        .where(eq(instance.id, row.id))
        .returning()
      await addEvent(tx, row, { at, code: 'image_begun' })
      await notify(tx, INSTANCE_CHANNEL, row.id)
      return changed ?? row
    },
    isDone,
  )
}

/** No image is made of an instance any more: it was, or it was given up. The caller holds the wallet's lock. */
export async function endImage(
  tx: Transaction,
  instanceId: string,
  { imageId, isMade, at }: { imageId: string; isMade: boolean; at: Date },
): Promise<void> {
  const [row] = await tx
    .update(instance)
    .set({ buildingImageId: null })
    .where(and(eq(instance.id, instanceId), eq(instance.buildingImageId, imageId)))
    .returning()
  if (!row) return
  await addEvent(tx, row, { at, code: isMade ? 'image_made' : 'image_not_made' })
  await notify(tx, INSTANCE_CHANNEL, instanceId)
}

/** Of those images the ones that instances were made from which are not gone. */
export async function imagesInUse(q: Queryable, imageIds: readonly string[]): Promise<Set<string>> {
  if (imageIds.length === 0) return new Set()
  const rows = await q
    .select({ imageId: instance.imageId })
    .from(instance)
    .where(and(inArray(instance.imageId, [...imageIds]), isNull(instance.terminatedAt)))
    .groupBy(instance.imageId)
  return new Set(rows.flatMap(({ imageId }) => imageId ?? []))
}
