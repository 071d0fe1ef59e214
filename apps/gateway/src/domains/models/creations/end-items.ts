import type { ErrorCode } from '@berth/contract/errors'
import { CREATION_STORED_BYTES_MAX } from '@berth/contract/limits'
import { NO_USE } from '@berth/contract/model-cost'
import { eq } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { CatalogueModel } from '../../../platform/config/catalogue.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import type { Events } from '../../../platform/events/events.ts'
import type { RateCounts } from '../../../platform/http/rate-counts.ts'
import type { Billing } from '../../billing/billing.ts'
import { filmNews } from '../events.ts'
import { storedBytes } from './ask-creations.ts'
import {
  type Book,
  changeItem,
  type Item,
  loggedErrorOf,
  NotMade,
  pricedModel,
  STOPPED_WINDOW_MS,
  stoppedKey,
} from './items.ts'
import type { ComeFile, KeptFiles } from './kept-files.ts'
import type { Leftovers } from './leftovers.ts'
import { creation, creationItem } from './tables.ts'

interface EndDeps {
  clock: Clock
  book: Book
  billing: Pick<Billing, 'lockWallet'>
  events: Pick<Events, 'emit'>
  models: readonly CatalogueModel[]
  files: Pick<KeptFiles, 'drop' | 'settle' | 'removeUnusedOf'>
  leftovers: Leftovers
  countOrders: ReturnType<RateCounts['within']>
}

/** What a gateway works on. */
export type Worked = Pick<Item, 'id' | 'userId' | 'owner'>

/**
 * How items end: each once, under the wallet's lock, in the transaction that lets go what was set aside and charges. What
 * comes too late, because somebody stopped it or another gateway has it, changes nothing.
 */
export function createItemEnds(deps: EndDeps) {
  const { clock, book, billing, events, models, files, leftovers, countOrders } = deps

  async function endCall(
    tx: Transaction,
    item: Item,
    end: { status: 'done' | 'left' | 'failed'; used?: object; errorCode?: ErrorCode },
  ): Promise<bigint> {
    const { status, used = {}, errorCode } = end
    const model = pricedModel(models, item.modelId)
    const how = {
      ...{ status, used: { ...NO_USE, ...used }, firstByteMs: null },
      ...(errorCode && { errorCode: loggedErrorOf(errorCode) }),
    }
    const costs = await book.endIn(tx, item.userId, [{ callId: item.callId, model, how }])
    return costs.get(item.callId) ?? 0n
  }

  /** A mail tells of a film, where that is wanted. */
  async function tell(tx: Transaction, item: Item, outcome: 'ready' | 'failed'): Promise<void> {
    if (item.kind !== 'video') return
    const [run] = await tx.select().from(creation).where(eq(creation.id, item.creationId))
    if (!run?.mail) return
    await events.emit(tx, filmNews, {
      ...{ userId: item.userId, at: clock.now().toISOString(), outcome, creationId: item.creationId },
      askedAt: run.createdAt.toISOString(),
      modelName: pricedModel(models, item.modelId).name,
    })
  }

  return {
    /**
     * It is made: its bytes are kept and what it used is charged.
     * @returns False where that came too late.
     * @throws NotMade `creations_full` where the customer keeps as much as may be by now: then nothing is charged.
     */
    saved: async (
      { id, userId, owner }: Worked,
      file: ComeFile,
      used: { images: number } | { videoSeconds: number },
    ): Promise<boolean> => {
      const kept = book.inTurn(userId, async tx => {
        await billing.lockWallet(tx, userId)
        const fileId = await files.settle(tx, userId, file)
        const at = clock.now()
        const item = await changeItem(tx, { id, owner: owner ?? '' }, 'saved', {
          ...{ fileId, percent: 100, endedAt: at, owner: null, leasedUntil: null },
        })
        if (!item) {
          await files.removeUnusedOf(tx, [fileId])
          return false
        }
        // There was room when it was asked for; others have come since.
        if ((await storedBytes(tx, userId)) > CREATION_STORED_BYTES_MAX) throw new NotMade('creations_full')
        const costMicro = await endCall(tx, item, { status: 'done', used })
        await tx.update(creationItem).set({ costMicro }).where(eq(creationItem.id, id))
        await leftovers.note(tx, item)
        await tell(tx, item, 'ready')
        return true
      })
      return await kept.catch(async (error: unknown) => {
        await files.drop(file)
        throw error
      })
    },

    /** It was not made, which costs nothing. @returns False where that came too late. */
    failed: (
      { id, userId, owner }: Worked,
      { code, reason }: { code: ErrorCode; reason: string | null },
    ): Promise<boolean> =>
      book.inTurn(userId, async tx => {
        await billing.lockWallet(tx, userId)
        const item = await changeItem(tx, { id, owner: owner ?? '' }, 'failed', {
          ...{ errorCode: code, errorReason: reason, endedAt: clock.now(), owner: null, leasedUntil: null },
        })
        if (!item) return false
        await endCall(tx, item, { status: 'failed', errorCode: code })
        await leftovers.note(tx, item)
        await tell(tx, item, 'failed')
        return true
      }),

    /** Stops one that is under way, whoever works on it: that costs nothing. The caller holds the wallet's lock. */
    async stopIn(tx: Transaction, { id }: Pick<Item, 'id'>): Promise<void> {
      const item = await changeItem(tx, { id }, 'stopped', {
        ...{ endedAt: clock.now(), owner: null, leasedUntil: null },
      })
      if (!item) return
      if (item.renderingAt !== null || item.serverId !== null) {
        const key = stoppedKey(item.kind, item.userId)
        await countOrders(tx, key, { windowMs: STOPPED_WINDOW_MS })
      }
      await endCall(tx, item, { status: 'left' })
      await leftovers.note(tx, item)
    },
  }
}
export type ItemEnds = ReturnType<typeof createItemEnds>
