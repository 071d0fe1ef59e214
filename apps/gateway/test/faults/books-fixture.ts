import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { centsFloor } from '@berth/contract/money'
import { sql } from 'drizzle-orm'
import { pino } from 'pino'
import { checkBooks } from '../../src/domains/billing/check-books.ts'
import type { Database } from '../../src/platform/database/database.ts'
import { openDatabase } from '../../src/platform/database/open-database.ts'

/** What the database of a running gateway holds of one customer, read past the gateway. */
export interface Books {
  topups: { key: string; id: string; cents: number; state: string; charges: number }[]
  instances: { key: string; id: string }[]
  /** What the balance call must answer, by top-ups, credits, usage and what is set aside. */
  expectedCents: number
  /** Charges of the payment platform that belong to no top-up. */
  strayCharges: number
  /** What the audit of the books found. */
  problems: string[]
}

/**
 * Reads and audits the books in the database of a data folder.
 * @param userId Whose.
 */
export async function readBooks(dataDir: string, userId: string): Promise<Books> {
  const { db, close } = openDatabase({
    url: urlOf(dataDir),
    log: pino({ level: 'silent' }),
    poolSize: 1,
  })
  try {
    return { ...(await readOneMoment(db, userId)), problems: await checkBooks(db) }
  } finally {
    await close()
  }
}

/** As the gateway's own start makes it; the password is in the folder. */
function urlOf(dataDir: string): string {
  const secrets = JSON.parse(readFileSync(join(dataDir, 'secrets.json'), 'utf8')) as {
    database_password: string
  }
  const query = `host=${encodeURIComponent(join(dataDir, 'run'))}&port=5432`
  return `postgresql://berth:${encodeURIComponent(secrets.database_password)}@/berth?${query}`
}

function readOneMoment(db: Database, userId: string): Promise<Omit<Books, 'problems'>> {
  return db.transaction(
    async tx => {
      const topups = await tx.execute<Books['topups'][number]>(sql`
        select idempotency_key as key, id, amount_cents as cents, state, (
          select count(*)::int from testcard_charge c where c.idempotency_key = t.id::text
        ) as charges
        from topup t where user_id = ${userId}`)
      const instances = await tx.execute<Books['instances'][number]>(sql`
        select idempotency_key as key, id from instance where user_id = ${userId}`)
      const stray = await tx.execute<{ count: number }>(sql`
        select count(*)::int as count from testcard_charge c
        where not exists (select from topup t where t.id::text = c.idempotency_key)`)
      // From what happened, not from the balances that the ledger keeps.
      const sums = await tx.execute<{ total: string; held: string }>(sql`
        select (
          coalesce((select sum(amount_cents::bigint * 10000) from topup
            where user_id = ${userId} and state = 'settled'), 0)
          + coalesce((select sum(amount_micro) from credit_grant where user_id = ${userId}), 0)
          - coalesce((select sum(posted_micro) from usage_interval where user_id = ${userId}), 0)
        )::text as total, coalesce((select sum(amount_micro - used_micro) from wallet_hold
          where user_id = ${userId} and released_at is null), 0)::text as held`)
      const [total, held] = [BigInt(sums.rows[0]?.total ?? 0), BigInt(sums.rows[0]?.held ?? 0)]
      return {
        topups: topups.rows,
        instances: instances.rows,
        strayCharges: stray.rows[0]?.count ?? 0,
        // The balance call rounds what is available and what is set aside each for itself.
        expectedCents: centsFloor(total - held) + centsFloor(held),
      }
    },
    { isolationLevel: 'repeatable read', accessMode: 'read only' },
  )
}
