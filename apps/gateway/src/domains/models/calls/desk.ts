import type { ModelKind } from '@berth/contract/models'
import type { Logger } from 'pino'
import type { CatalogueModel } from '../../../platform/config/catalogue.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { CallBook, ModelCaller } from './call-book.ts'
import type { CallEnd } from './end-calls.ts'

/** Calls of one customer that one gateway has under way. */
const AT_ONCE_MAX = 200
/** No answer takes longer. */
export const CALL_MS_MAX = 30 * 60_000

/** A call that is written down. */
export interface Opened {
  caller: ModelCaller
  model: CatalogueModel
  callId: string
  startedMs: number
}

interface DeskDeps {
  log: Pick<Logger, 'error'>
  book: Pick<CallBook, 'end' | 'allowances'>
  models: readonly CatalogueModel[]
}

/** Where calls come in and go out: of which model, how many a customer has under way, and that each end is written down. */
export function createDesk({ log, book, models }: DeskDeps) {
  const atOnce = new Map<string, number>()
  /** Ends that are being written down. */
  const ending = new Set<Promise<unknown>>()

  return {
    /** The model that is named. @throws ApiError `model_unknown`, `model_kind` */
    model(id: string, kinds: readonly ModelKind[]): CatalogueModel {
      const found = models.find(one => one.id === id)
      if (!found) throw new ApiError('model_unknown', { values: { model: id } })
      if (!kinds.includes(found.kind)) throw new ApiError('model_kind', { values: { model: id } })
      return found
    },

    /** @returns Gives the place back; again it does nothing. @throws ApiError `too_many_requests` */
    enter({ userId }: ModelCaller): () => void {
      const others = atOnce.get(userId) ?? 0
      if (others >= AT_ONCE_MAX) throw new ApiError('too_many_requests', { values: { seconds: 1 } })
      atOnce.set(userId, others + 1)
      let isIn = true
      return () => {
        if (!isIn) return
        isIn = false
        const left = (atOnce.get(userId) ?? 1) - 1
        if (left > 0) atOnce.set(userId, left)
        else atOnce.delete(userId)
      }
    },

    /** Writes the end of a call down, whoever waits for it. @returns What it cost, in micro-units. */
    end(
      { caller, model, callId, startedMs }: Opened,
      how: Omit<CallEnd, 'firstByteMs'>,
      firstMs: number | null,
    ): Promise<bigint> {
      caller.onUsed?.(how.used.inputTokens + how.used.outputTokens)
      const firstByteMs = firstMs === null ? null : Math.max(0, Math.round(firstMs - startedMs))
      const ended = book.end(caller, model, callId, { ...how, firstByteMs })
      ending.add(ended)
      void ended
        .catch(error =>
          log.error({ err: error, call: callId }, 'the end of a call of a model was not written down'),
        )
        .finally(() => ending.delete(ended))
      return ended
    },

    /** Waits until what has ended is written down. */
    async settle(): Promise<void> {
      await Promise.allSettled([...ending])
      await book.allowances.settle()
    },
  }
}
export type Desk = ReturnType<typeof createDesk>
