import { auditEntry as entryEntity, type listAuditLog } from '@berth/contract/account-security'
import type { CallData } from '@berth/contract/call'
import { and, count, desc, eq, like } from 'drizzle-orm'
import type { Database } from '../../platform/database/database.ts'
import { wireOf } from '../../platform/http/wire.ts'
import { auditEntry } from './tables.ts'

const entryOf = wireOf(entryEntity)

export interface AuditQuery {
  page: number
  page_size: number
  /** Only entries whose action begins with this; empty for all. */
  action: string
}

/** A page of an account's entries, newest first. */
export async function readPage(
  db: Database,
  userId: string,
  { page, page_size, action }: AuditQuery,
): Promise<CallData<typeof listAuditLog>> {
  const condition = and(
    eq(auditEntry.userId, userId),
    action === '' ? undefined : like(auditEntry.action, `${escapeLike(action)}%`),
  )
  const [counted] = await db.select({ total: count() }).from(auditEntry).where(condition)
  const rows = await db
    .select()
    .from(auditEntry)
    .where(condition)
    .orderBy(desc(auditEntry.id))
    .limit(page_size)
    .offset((page - 1) * page_size)
  return {
    items: rows.map(row => entryOf({ ...row, createdTime: row.at })),
    total: counted?.total ?? 0,
    page,
    page_size,
  }
}

/** What is typed means itself: `_` and `%` are no patterns. */
function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}
