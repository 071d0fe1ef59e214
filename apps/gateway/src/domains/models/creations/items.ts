import {
  CREATION_FOLLOWS,
  type CreationStatus,
  OPEN_CREATION_STATUSES,
} from '@berth/contract/creation-states'
import type { CreationKind } from '@berth/contract/creations'
import type { ErrorCode } from '@berth/contract/errors'
import type { CALL_ERRORS } from '@berth/contract/session-log'
import { and, eq, inArray, type SQL } from 'drizzle-orm'
import type { PgUpdateSetSource } from 'drizzle-orm/pg-core'
import type { CatalogueModel } from '../../../platform/config/catalogue.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { CallBook } from '../calls/call-book.ts'
import { creation, creationItem } from './tables.ts'

export type Item = typeof creationItem.$inferSelect
export type Run = typeof creation.$inferSelect

/** Items that are under way, as a condition. */
export const isOpenItem = (): SQL => inArray(creationItem.status, [...OPEN_CREATION_STATUSES])

/** A customer's run. @throws ApiError `not_found`, as well for another's. */
export async function ownRun(q: Pick<Transaction, 'select'>, userId: string, id: string): Promise<Run> {
  const [run] = await q
    .select()
    .from(creation)
    .where(and(eq(creation.id, id), eq(creation.userId, userId)))
  if (!run) throw new ApiError('not_found')
  return run
}

/** A model as it is charged. One that the catalogue has no more is never charged: nothing of it comes to an end that costs. */
export function pricedModel(models: readonly CatalogueModel[], id: string) {
  const none = {
    ...{ id, name: id, input_micro_per_million: 0n, cached_micro_per_million: 0n },
    ...{ output_micro_per_million: 0n, image_micro: 0n, video_micro_per_second: 0n },
  }
  return models.find(one => one.id === id) ?? none
}

/** Why something was not made. It is told as an error of the gateway is, and nothing of it costs. */
export class NotMade extends Error {
  readonly code: ErrorCode
  /** What the server says to it. */
  readonly reason: string | null

  constructor(code: ErrorCode, options: { reason?: string; cause?: unknown } = {}) {
    super(`not made: ${code}`, { cause: options.cause })
    this.name = 'NotMade'
    this.code = code
    this.reason = options.reason ?? null
  }
}

/** What the log of calls says of such a call. */
export function loggedErrorOf(code: ErrorCode): (typeof CALL_ERRORS)[number] {
  if (code === 'model_refused') return 'refused'
  return code === 'model_answer_wrong' || code === 'model_answer_too_large' ? 'broke_off' : 'not_answered'
}

/**
 * Changes the status of an item by compare and set, as the table of the contract lets it follow.
 * @returns The item as it is then; null where it is in a status by now that lets nothing of that follow, or another gateway's.
 */
export async function changeItem(
  tx: Pick<Transaction, 'update'>,
  { id, owner }: { id: string; owner?: string | undefined },
  to: CreationStatus,
  set: Omit<PgUpdateSetSource<typeof creationItem>, 'status'> = {},
): Promise<Item | null> {
  // What has ended is begun again only by who pays for it anew.
  const from = OPEN_CREATION_STATUSES.filter(status => status === to || CREATION_FOLLOWS[status].includes(to))
  const [changed] = await tx
    .update(creationItem)
    .set({ ...set, status: to })
    .where(
      and(
        eq(creationItem.id, id),
        inArray(creationItem.status, from),
        owner === undefined ? undefined : eq(creationItem.owner, owner),
      ),
    )
    .returning()
  return changed ?? null
}

/** What is stopped after a server has begun it is counted by this, for an hour: it costs nothing, but its server has worked. */
export const STOPPED_WINDOW_MS = 3_600_000
export const stoppedKey = (kind: CreationKind, userId: string): string => `stopped ${kind} ${userId}`

/** What the end of an item is written down by. */
export type Book = Pick<CallBook, 'inTurn' | 'beginIn' | 'endIn' | 'tellRefusal'>
