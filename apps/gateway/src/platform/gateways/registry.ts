import { and, eq, gt, inArray, lt, lte, ne, sql } from 'drizzle-orm'
import type { Database } from '../database/database.ts'
import { gateway, isStaying } from './tables.ts'

/** A gateway that does not renew its row for so long is taken for dead. */
export const SEEN_MS = 10_000
/** Rows of dead gateways are kept this long, for whoever looks into what happened. */
const KEPT_MS = 3_600_000

/** Another gateway that lives. */
export interface OtherGateway {
  id: string
  address: string
  seenUntil: Date
}

/**
 * The rows of gateways that run. Time is the database's, so that gateways whose clocks differ agree.
 * @param deps.selfId This process's row.
 */
export function createRegistry({ db, selfId }: { db: Database; selfId: string }) {
  const seenUntil = sql`now() + make_interval(secs => ${SEEN_MS / 1_000})`

  return {
    /** Writes that this gateway lives, and where it is reached; an empty address: nowhere any more. */
    async renew(address: string): Promise<void> {
      await db
        .insert(gateway)
        .values({ id: selfId, address, seenUntil })
        .onConflictDoUpdate({ target: gateway.id, set: { address, seenUntil } })
    },

    /** Removes rows that ran out long ago. */
    async purge(): Promise<void> {
      await db
        .delete(gateway)
        .where(lt(gateway.seenUntil, sql`now() - make_interval(secs => ${KEPT_MS / 1_000})`))
    },

    /** Says that a gateway is gone: nobody opens to it any more. */
    async withdraw(id: string): Promise<void> {
      await db.delete(gateway).where(eq(gateway.id, id))
    },

    /** All gateways that live and stay, but for this one. */
    async others(): Promise<OtherGateway[]> {
      return await db
        .select({ id: gateway.id, address: gateway.address, seenUntil: gateway.seenUntil })
        .from(gateway)
        .where(and(ne(gateway.id, selfId), isStaying, gt(gateway.seenUntil, sql`now()`)))
    },

    /** Where a gateway is reached; null when it does not run any more, or is about to go. */
    async addressOf(id: string): Promise<string | null> {
      const [row] = await db
        .select({ address: gateway.address })
        .from(gateway)
        .where(and(eq(gateway.id, id), isStaying, gt(gateway.seenUntil, sql`now()`)))
      return row?.address ?? null
    },

    /** Those of the given gateways that died: one that left in good order has no row, and hangs up by itself. */
    async deadAmong(ids: readonly string[]): Promise<string[]> {
      if (ids.length === 0) return []
      const rows = await db
        .select({ id: gateway.id })
        .from(gateway)
        .where(and(inArray(gateway.id, [...ids]), lte(gateway.seenUntil, sql`now()`)))
      return rows.map(({ id }) => id)
    },
  }
}
