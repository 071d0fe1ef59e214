import type { listAuditLog } from '@berth/contract/account-security'
import type { CallData } from '@berth/contract/call'
import { AUDIT_KEPT_DAYS } from '@berth/contract/limits'
import { lt } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database/database.ts'
import type { CallDone } from '../../platform/http/call-done.ts'
import type { Ids } from '../../platform/ids.ts'
import { type AuditQuery, readPage } from './audit-log.ts'
import { type AuditNote, createAuditWriter } from './audit-writer.ts'
import { entryOfCall } from './call-entries.ts'
import { auditEntry } from './tables.ts'

export type { AuditNote } from './audit-writer.ts'

/** Who did what with an account, and from where (B12). */
export interface Audit {
  /** Notes a call once it is answered; those that are not to be noted are passed over. Returns at once. */
  noteCall(done: CallDone): void
  /** Notes what no call of the customer's own says. Returns at once and never throws. */
  note(note: AuditNote): void
  /** Entries of an account, newest first, with all that were noted here before. */
  list(userId: string, query: AuditQuery): Promise<CallData<typeof listAuditLog>>
  /** Removes entries that are older than they are kept. */
  purge(): Promise<void>
  /** Writes what still waits; call it when nothing is noted any more. */
  stop(): Promise<void>
}

const DAY_MS = 24 * 3_600_000
/** The database refuses to delete younger entries by its own clock, which may be behind ours. */
const PURGE_MARGIN_MS = DAY_MS

/** Makes the audit domain. */
export function createAudit(deps: {
  db: Database
  clock: Clock
  ids: Ids
  log: Pick<Logger, 'error' | 'warn'>
}): Audit {
  const { db, clock } = deps
  const writer = createAuditWriter(deps)
  return {
    noteCall(done) {
      const note = entryOfCall(done)
      if (note) writer.note(note)
    },
    note: writer.note,
    async list(userId, query) {
      await writer.settled()
      return await readPage(db, userId, query)
    },
    async purge() {
      const before = new Date(clock.now().getTime() - AUDIT_KEPT_DAYS * DAY_MS - PURGE_MARGIN_MS)
      await db.delete(auditEntry).where(lt(auditEntry.at, before))
    },
    stop: writer.stop,
  }
}
