import { creationCan } from '@berth/contract/creation-states'
import type { CreationItem } from '@berth/contract/creations'
import { and, eq } from 'drizzle-orm'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Billing } from '../../billing/billing.ts'
import { forCustomer } from '../../customers/customers.ts'
import { ownItem } from './ask-creations.ts'
import type { ItemEnds } from './end-items.ts'
import { type Book, isOpenItem, ownRun } from './items.ts'
import { filesOf, type KeptFiles } from './kept-files.ts'
import type { Show, Telling } from './show-creations.ts'
import { creation, creationFile, creationItem, creationUpload } from './tables.ts'

interface ChangeDeps {
  db: Database
  book: Pick<Book, 'inTurn'>
  billing: Pick<Billing, 'lockWallet'>
  ends: Pick<ItemEnds, 'stopIn'>
  files: Pick<KeptFiles, 'removeUnusedOf'>
  show: Show
  /** Items were stopped: whoever works on them here ends, and their servers are told. */
  onStopped(itemIds: readonly string[]): void
}

/** What customers do with what they have made. */
export function createCreationChanges({ db, book, billing, ends, files, show, onStopped }: ChangeDeps) {
  /** The caller holds the wallet's lock. @returns The ids of what was stopped. */
  async function stopOpen(tx: Transaction, userId: string, creationId: string | null): Promise<string[]> {
    const open = await tx
      .select({ id: creationItem.id })
      .from(creationItem)
      .where(
        and(
          eq(creationItem.userId, userId),
          creationId === null ? undefined : eq(creationItem.creationId, creationId),
          isOpenItem(),
        ),
      )
    for (const item of open) await ends.stopIn(tx, item)
    return open.map(({ id }) => id)
  }

  return {
    /** Stops what of a run is under way; nothing is no error. @throws ApiError `not_found` */
    async stopRun(userId: string, id: string): Promise<void> {
      const stopped = await book.inTurn(userId, async tx => {
        await forCustomer(tx, userId)
        await billing.lockWallet(tx, userId)
        await ownRun(tx, userId, id)
        return await stopOpen(tx, userId, id)
      })
      onStopped(stopped)
    },

    /** Deletes a run, its prompt and its files, unless something else has those. @throws ApiError `not_found` */
    async removeRun(userId: string, id: string): Promise<void> {
      const stopped = await book.inTurn(userId, async tx => {
        await forCustomer(tx, userId)
        await billing.lockWallet(tx, userId)
        const run = await ownRun(tx, userId, id)
        const ids = await stopOpen(tx, userId, id)
        const made = await tx
          .select({ fileId: creationItem.fileId })
          .from(creationItem)
          .where(eq(creationItem.creationId, id))
        const had = [...made.map(({ fileId }) => fileId), run.imageFileId, run.lastImageFileId]
        await tx.delete(creation).where(eq(creation.id, id))
        await files.removeUnusedOf(
          tx,
          had.filter(fileId => fileId !== null),
        )
        return ids
      })
      onStopped(stopped)
    },

    /** @throws ApiError `not_found`, `creation_state` where there is nothing to mark. */
    async star(userId: string, itemId: string, starred: boolean, telling: Telling): Promise<CreationItem> {
      return await db.transaction(async tx => {
        await forCustomer(tx, userId)
        const before = await ownItem(tx, userId, itemId)
        if (!creationCan('star', before.status)) throw new ApiError('creation_state')
        const [item = before] = await tx
          .update(creationItem)
          .set({ starred })
          .where(eq(creationItem.id, itemId))
          .returning()
        const [file] = await tx
          .select()
          .from(creationFile)
          .where(eq(creationFile.id, item.fileId ?? itemId))
        return show.toItem({ item, file: file ?? null, waitingBefore: null }, telling)
      })
    },

    /** Whether a mail is to tell of a film. @throws ApiError `not_found` */
    async setMail(userId: string, id: string, mail: boolean): Promise<void> {
      await db.transaction(async tx => {
        await forCustomer(tx, userId)
        await ownRun(tx, userId, id)
        await tx.update(creation).set({ mail }).where(eq(creation.id, id))
      })
    },

    /** Removes all that a customer has, whose account is deleted. Safe to do again. */
    async forget(tx: Transaction, userId: string): Promise<void> {
      await billing.lockWallet(tx, userId)
      await stopOpen(tx, userId, null)
      const had = await filesOf(tx, userId)
      await tx.delete(creation).where(eq(creation.userId, userId))
      await tx.delete(creationUpload).where(eq(creationUpload.userId, userId))
      await files.removeUnusedOf(
        tx,
        had.map(({ id }) => id),
      )
    },
  }
}
