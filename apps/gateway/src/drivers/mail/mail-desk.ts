import { sql } from 'drizzle-orm'
import type { Database } from '../../platform/database/database.ts'
import { notify } from '../../platform/database/open-database.ts'
import { DUE_CHANNEL, JOBS_SCHEMA } from '../../platform/jobs/jobs.ts'
import { MAIL_QUEUE } from './mail-queue.ts'

/** Mails that one answer lists, the oldest first. */
const LISTED_MAX = 200

/** A mail that has not gone out. */
export interface WaitingMail {
  id: string
  kind: string
  state: 'waits' | 'being sent' | 'given up'
  tries: number
  nextAt: Date
  sentAt: Date
  /** What the last try failed with; empty where none did. */
  why: string
}

const job = sql.raw(`${JOBS_SCHEMA}.job`)

/** What operators do with mails that have not gone out (R6.5). */
export function createMailDesk({ db }: { db: Database }) {
  return {
    /** Those mails, the oldest first. */
    async list(): Promise<WaitingMail[]> {
      const { rows } = await db.execute<Record<string, string | number | Date | null>>(sql`
        select id, data->>'kind' as kind, state::text as state, retry_count as tries, start_after as next_at,
          created_on as sent_at, coalesce(output->>'message', '') as why
        from ${job} where name = ${MAIL_QUEUE} and state <> 'completed' and state <> 'cancelled'
        order by created_on, id limit ${LISTED_MAX}`)
      return rows.map(row => ({
        ...{ id: String(row.id), kind: String(row.kind), why: String(row.why), tries: Number(row.tries) },
        ...{ nextAt: new Date(row.next_at ?? 0), sentAt: new Date(row.sent_at ?? 0) },
        state: row.state === 'active' ? 'being sent' : row.state === 'failed' ? 'given up' : 'waits',
      }))
    },

    /** Has mails tried again at once; what is being sent is left alone. @returns How many. */
    async retry(ids: readonly string[]): Promise<number> {
      if (ids.length === 0) return 0
      return await db.transaction(async tx => {
        const { rowCount } = await tx.execute(sql`
          update ${job} set state = 'retry', start_after = now(), completed_on = null,
            keep_until = greatest(keep_until, now() + interval '1 day'),
            retry_limit = greatest(retry_limit, retry_count + 1)
          where name = ${MAIL_QUEUE} and state in ('created', 'retry', 'failed')
            and id = any(${sql.param([...ids])}::uuid[])`)
        await notify(tx, DUE_CHANNEL, MAIL_QUEUE)
        return rowCount ?? 0
      })
    },
  }
}
export type MailDesk = ReturnType<typeof createMailDesk>
