import type { OfferWatchHold } from '@berth/contract/offer-watches'
import { and, eq, sql } from 'drizzle-orm'
import type { Transaction } from '../../platform/database/database.ts'
import type { Events } from '../../platform/events/events.ts'
import { type OFFER_WATCH_NEWS, offerWatchNews } from './events.ts'
import { offerWatch } from './tables.ts'

/** A watch as its table keeps it. */
export type WatchRow = typeof offerWatch.$inferSelect

export interface Telling {
  events: Pick<Events, 'emit'>
  at: Date
}

/** A watch that has nothing to wait for any more; null where another transaction was first, and nothing is done. */
export async function endWatch(
  tx: Transaction,
  id: string,
  end: { state: 'deployed' | 'expired' | 'refused'; instanceId?: string } & Telling,
): Promise<WatchRow | null> {
  const [row] = await tx
    .update(offerWatch)
    .set({
      state: end.state,
      endedAt: end.at,
      heldBy: null,
      ...(end.instanceId !== undefined && { instanceId: end.instanceId }),
    })
    .where(and(eq(offerWatch.id, id), eq(offerWatch.state, 'waiting')))
    .returning()
  if (!row) return null
  await tell(tx, row, { ...end, news: end.state })
  return row
}

/** Writes down why a watch cannot deploy now, and when it tries again. Each reason is told once. */
export async function holdWatch(
  tx: Transaction,
  id: string,
  hold: { by: OfferWatchHold; nextTryAt: Date } & Telling,
): Promise<void> {
  const [row] = await tx
    .select()
    .from(offerWatch)
    .where(and(eq(offerWatch.id, id), eq(offerWatch.state, 'waiting')))
    .for('update')
  if (!row) return
  const isNew = !row.heldTold.includes(hold.by)
  await tx
    .update(offerWatch)
    .set({
      heldBy: hold.by,
      nextTryAt: hold.nextTryAt,
      ...(isNew && { heldTold: [...row.heldTold, hold.by], toldAt: hold.at }),
    })
    .where(eq(offerWatch.id, id))
  if (isNew) await tell(tx, row, { ...hold, news: hold.by })
}

/** Tells what happened to a watch, in the transaction that has changed its row. */
export async function tell(
  tx: Transaction,
  row: WatchRow,
  told: { news: (typeof OFFER_WATCH_NEWS)[number] } & Telling,
): Promise<void> {
  await told.events.emit(tx, offerWatchNews, {
    userId: row.userId,
    at: told.at.toISOString(),
    news: told.news,
    gpuSpecName: row.gpuSpecName,
    gpuCount: row.gpuCount,
    regionName: row.regionName,
    instanceName: row.instanceName,
  })
}

/** The condition of a watch of that offer which waits. */
export function isWaitingFor(offer: { regionCode: string; gpuSpecId: string }) {
  return and(
    // As the index has it, so that the planner finds it.
    sql`${offerWatch.state} = 'waiting'`,
    eq(offerWatch.regionCode, offer.regionCode),
    eq(offerWatch.gpuSpecId, offer.gpuSpecId),
  )
}
