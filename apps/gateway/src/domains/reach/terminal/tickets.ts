import { TERMINAL_TICKET_MS } from '@berth/contract/limits'
import { and, eq, gt, isNull, lt } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Database } from '../../../platform/database/database.ts'
import { sha256Hex } from '../../../platform/hash.ts'
import type { Ids } from '../../../platform/ids.ts'
import { forCustomer } from '../../customers/customers.ts'
import { terminalTicket } from '../tables.ts'

/** What a ticket opens, and in whose name. */
export interface TicketSubject {
  userId: string
  sessionId: string
  instanceId: string
}

export interface Tickets {
  issue(subject: TicketSubject): Promise<{ ticket: string; expiresAt: Date }>
  /** Uses a ticket up. Null when it is unknown, over, or was used before. */
  redeem(ticket: string): Promise<TicketSubject | null>
}

const TICKET_BYTES = 32
/** Used and expired tickets are removed after this long. */
const KEPT_MS = 3_600_000

/** Tickets that open one socket each: browsers cannot send the token itself with a WebSocket. */
export function createTickets({ db, clock, ids }: { db: Database; clock: Clock; ids: Ids }): Tickets {
  return {
    async issue(subject) {
      const ticket = ids.secret(TICKET_BYTES)
      const now = clock.now()
      const expiresAt = new Date(now.getTime() + TERMINAL_TICKET_MS)
      await db.delete(terminalTicket).where(lt(terminalTicket.expiresAt, new Date(now.getTime() - KEPT_MS)))
      await db.transaction(async tx => {
        await forCustomer(tx, subject.userId)
        await tx.insert(terminalTicket).values({ ...subject, hash: sha256Hex(ticket), expiresAt })
      })
      return { ticket, expiresAt }
    },
    async redeem(ticket) {
      const now = clock.now()
      // One statement, so that of two sockets with the same ticket one is refused.
      const [subject] = await db
        .update(terminalTicket)
        .set({ usedAt: now })
        .where(
          and(
            eq(terminalTicket.hash, sha256Hex(ticket)),
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
