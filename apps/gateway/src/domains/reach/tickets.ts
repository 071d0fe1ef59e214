import { and, eq, gt, isNull, lt } from 'drizzle-orm'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database/database.ts'
import { sha256Hex } from '../../platform/hash.ts'
import type { Ids } from '../../platform/ids.ts'
import { forCustomer } from '../customers/customers.ts'
import { terminalTicket } from './tables.ts'

/** What a ticket opens, and in whose name. */
export interface TicketSubject {
  userId: string
  sessionId: string
  instanceId: string
}

export interface Tickets {
  /**
   * @param opens What it opens besides, which whoever uses it must name: the path of a file, or a shell. Empty for the first shell.
   * @param lifeMs How long it may be used.
   */
  issue(subject: TicketSubject, opens: string, lifeMs: number): Promise<{ ticket: string; expiresAt: Date }>
  /** Uses a ticket up. Null when it is unknown, for something else, over, or was used before. */
  redeem(ticket: string, opens: string): Promise<TicketSubject | null>
}

const TICKET_BYTES = 32
/** What a ticket looks like: what does not is not looked for. */
export const TICKET = /^[A-Za-z0-9_-]{1,100}$/
/** Used and expired tickets are removed after this long. */
const KEPT_MS = 3_600_000

/** Tickets that open one thing each: browsers send no token with a WebSocket, nor with an address that they save. */
export function createTickets({ db, clock, ids }: { db: Database; clock: Clock; ids: Ids }): Tickets {
  return {
    async issue(subject, opens, lifeMs) {
      const ticket = ids.secret(TICKET_BYTES)
      const now = clock.now()
      const expiresAt = new Date(now.getTime() + lifeMs)
      await db.delete(terminalTicket).where(lt(terminalTicket.expiresAt, new Date(now.getTime() - KEPT_MS)))
      await db.transaction(async tx => {
        await forCustomer(tx, subject.userId)
        await tx.insert(terminalTicket).values({ ...subject, hash: hashOf(ticket, opens), expiresAt })
      })
      return { ticket, expiresAt }
    },
    async redeem(ticket, opens) {
      const now = clock.now()
      // One statement, so that of two who come with the same ticket one is refused.
      const [subject] = await db
        .update(terminalTicket)
        .set({ usedAt: now })
        .where(
          and(
            eq(terminalTicket.hash, hashOf(ticket, opens)),
            isNull(terminalTicket.usedAt),
            gt(terminalTicket.expiresAt, now),
          ),
        )
        .returning({
          userId: terminalTicket.userId,
          sessionId: terminalTicket.sessionId,
          instanceId: terminalTicket.instanceId,
        })
      return subject ?? null
    },
  }
}

/** A ticket has no blanks, so nothing else comes to the same text. */
function hashOf(ticket: string, opens: string): string {
  return sha256Hex(opens === '' ? ticket : `${ticket} ${opens}`)
}
