import { REFUSED_CARDS_PER_DAY_MAX } from '@berth/contract/limits'
import { and, desc, eq, gt, inArray, isNull } from 'drizzle-orm'
import type { Clock } from '../../../../platform/clock.ts'
import type { Queryable, Transaction } from '../../../../platform/database/database.ts'
import { ApiError } from '../../../../platform/http/api-error.ts'
import { paymentIntent } from '../tables.ts'
import type { Method } from './stored.ts'
import { paymentMethod } from './tables.ts'

/** So long a refused card is counted, and so long the list says why it is not kept. */
export const REFUSED_CARDS_MS = 24 * 3_600_000
const HOUR_MS = 3_600_000

/**
 * Refuses another card to who has entered many that were refused within a day, to be kept or to pay with: the answers of
 * banks tell whoever has stolen numbers which of them are good. Saved cards are no part of it: their banks were asked.
 * Call it under the wallet's lock.
 * @throws ApiError `cards_refused_limit`, with in how many hours another one may be entered.
 */
export async function requireFewRefused(
  tx: Transaction,
  { clock }: { clock: Clock },
  userId: string,
): Promise<void> {
  const nowMs = clock.now().getTime()
  const since = new Date(nowMs - REFUSED_CARDS_MS)
  const [notKept, notPaid] = await Promise.all([
    tx
      .select({ at: paymentMethod.refusedAt })
      .from(paymentMethod)
      .where(
        and(
          eq(paymentMethod.userId, userId),
          inArray(paymentMethod.state, ['refused', 'counted']),
          gt(paymentMethod.refusedAt, since),
        ),
      )
      .orderBy(desc(paymentMethod.refusedAt))
      .limit(REFUSED_CARDS_PER_DAY_MAX),
    tx
      .select({ at: paymentIntent.finishedAt })
      .from(paymentIntent)
      .where(
        and(
          eq(paymentIntent.userId, userId),
          isNull(paymentIntent.methodId),
          eq(paymentIntent.state, 'failed'),
          gt(paymentIntent.finishedAt, since),
        ),
      )
      .orderBy(desc(paymentIntent.finishedAt))
      .limit(REFUSED_CARDS_PER_DAY_MAX),
  ])
  const newest = [...notKept, ...notPaid].map(({ at }) => at?.getTime() ?? 0).sort((a, b) => b - a)
  const oldest = newest[REFUSED_CARDS_PER_DAY_MAX - 1]
  if (oldest === undefined) return
  const hours = Math.max(1, Math.ceil((oldest + REFUSED_CARDS_MS - nowMs) / HOUR_MS))
  throw new ApiError('cards_refused_limit', { values: { limit: REFUSED_CARDS_PER_DAY_MAX, hours } })
}

/** Has the list say no more of a card that was refused; it stays counted for its day. */
export async function countOnly(q: Pick<Queryable, 'update'>, { id }: Pick<Method, 'id'>): Promise<void> {
  const isIt = and(eq(paymentMethod.id, id), eq(paymentMethod.state, 'refused'))
  await q.update(paymentMethod).set({ state: 'counted' }).where(isIt)
}
