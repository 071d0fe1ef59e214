import { sql } from 'drizzle-orm'
import type { Queryable } from '../../../platform/database/database.ts'

/** What is asked of a customer: whether anything came since then. */
export interface CreditedOf {
  /** Whatever names the question. */
  key: string
  userId: string
  since: Date
}

/**
 * Of many questions those of which money has come: a top-up, credits of any kind, or what a platform gave back. What was
 * set aside and is let go, or is given back of usage, is none: it was there before.
 * @returns Their keys.
 */
export async function creditedSince(
  q: Pick<Queryable, 'execute'>,
  of: readonly CreditedOf[],
): Promise<Set<string>> {
  if (of.length === 0) return new Set()
  const asked = JSON.stringify(
    of.map(({ key, userId, since }) => ({ key, user_id: userId, since: since.toISOString() })),
  )
  const { rows } = await q.execute<{ key: string }>(sql`
    select w.key from jsonb_to_recordset(${asked}::jsonb) as w(key text, user_id uuid, since timestamptz)
    where exists (
      select 1 from ledger_transfer t
      where t.user_id = w.user_id and t.created_at >= w.since and t.kind in ('topup', 'credit', 'refund')
        and t.to_account in ('user:' || w.user_id || ':cash', 'user:' || w.user_id || ':credits'))`)
  return new Set(rows.map(({ key }) => key))
}
