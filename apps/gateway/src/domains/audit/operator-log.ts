import { AUDIT_KEPT_DAYS } from '@berth/contract/limits'
import { desc, eq, lt } from 'drizzle-orm'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database/database.ts'
import type { Ids } from '../../platform/ids.ts'
import { operatorEntry } from './tables.ts'

export type OperatorEntry = typeof operatorEntry.$inferSelect

const TEXT_CHARS_MAX = 300
/** The database refuses to delete younger entries by its own clock, which may be behind ours. */
const KEPT_MS = (AUDIT_KEPT_DAYS + 1) * 86_400_000

/** What operators changed by their command line (R6.5): an entry is written before the change, and told how it ended. */
export function createOperatorLog({
  db,
  clock,
  ids,
}: {
  db: Database
  clock: Clock
  ids: Pick<Ids, 'uuid'>
}) {
  return {
    /**
     * Writes down what is about to be done.
     * @param entry.who `user@host` of whoever typed it. @param entry.userId Whose account it concerns; null for nobody's.
     * @returns Writes how it ended; one that is never told stays `begun`.
     */
    async begin(entry: { who: string; command: string; target: string; userId: string | null }) {
      const id = ids.uuid()
      const { command, userId } = entry
      await db.insert(operatorEntry).values({
        ...{ id, command, userId, who: plain(entry.who), target: plain(entry.target) },
        ...{ outcome: 'begun', detail: '', at: clock.now() },
      })
      return async ({ outcome, detail }: { outcome: 'done' | 'failed'; detail: string }): Promise<void> => {
        const ended = { outcome, detail: plain(detail), endedAt: clock.now() }
        await db.update(operatorEntry).set(ended).where(eq(operatorEntry.id, id))
      }
    },

    /** The newest entries. @param query.userId Of one account; null: all. */
    list: ({ userId, max }: { userId: string | null; max: number }): Promise<OperatorEntry[]> =>
      db
        .select()
        .from(operatorEntry)
        .where(userId === null ? undefined : eq(operatorEntry.userId, userId))
        .orderBy(desc(operatorEntry.id))
        .limit(max),

    /** Removes entries that are older than they are kept. */
    async purge(): Promise<void> {
      await db.delete(operatorEntry).where(lt(operatorEntry.at, new Date(clock.now().getTime() - KEPT_MS)))
    },
  }
}

/** On one line, of bounded length, and without the zero byte that PostgreSQL refuses. */
function plain(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ').slice(0, TEXT_CHARS_MAX)
}
