import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ChargeCycle } from '@berth/contract/charge-terms'
import { centsFloor } from '@berth/contract/money'
import { sql } from 'drizzle-orm'
import { pino } from 'pino'
import { PATIENCE_MS } from '../../../../scripts/test/patience-ms.ts'
import { checkBooks } from '../../src/domains/billing/ledger/check-books.ts'
import { unposted } from '../../src/domains/billing/meters/unposted.ts'
import { systemClock } from '../../src/platform/clock.ts'
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
export function readBooks(dataDir: string, userId: string): Promise<Books> {
  return readBooksAt(urlOf(dataDir), userId)
}

/** The same in any database, by its address. */
export function readBooksAt(url: string, userId: string): Promise<Books> {
  return readAt(url, async db => ({
    ...(await readOneMoment(db, userId)),
    problems: await checkBooks({ db, clock: systemClock }),
  }))
}

/** Gateways that the database of a data folder holds anything of: what they reach, lease or work on. */
export function readGateways(dataDir: string): Promise<string[]> {
  return readAt(urlOf(dataDir), async db => {
    const { rows } = await db.execute<{ id: string }>(sql`
      select id::text from gateway union select gateway_id::text from engine_reach union select owner from lease
      union select lease_owner from instance where lease_owner is not null`)
    return rows.map(({ id }) => id)
  })
}

/** A stretch of time for which an instance's machine is charged, in ms since 1970; null where it goes on. */
export interface MachineStretch {
  startedAt: number
  endedAt: number | null
  /** What was paid for it in advance; null where it is metered. */
  term: { cycle: ChargeCycle; priceMicro: bigint; postedMicro: bigint } | null
}

/** For which time the machine of an instance was charged, its disks alone not counted, in any database by its address. */
export function readMachineStretches(url: string, instanceId: string): Promise<MachineStretch[]> {
  return readAt(url, async db => {
    const { rows } = await db.execute<{
      started: number
      ended: number | null
      charge: string
      unit: string
      price: string
      posted: string
    }>(sql`
      select (extract(epoch from i.started_at) * 1000)::float8 as started,
        (extract(epoch from i.ended_at) * 1000)::float8 as ended, i.charge, i.posted_micro::text as posted,
        max(m.unit) filter (where m.sku like 'compute.%') as unit, sum(m.quantity * m.rate_micro)::text as price
      from usage_interval i join usage_meter m on m.interval_id = i.id
      where subject_kind = 'instance' and subject_id = ${instanceId}
      group by i.id having bool_or(m.sku like 'compute.%') order by i.started_at, i.id`)
    return rows.map(({ started, ended, charge, unit, price, posted }) => ({
      startedAt: started,
      endedAt: ended,
      term:
        charge === 'term'
          ? {
              cycle: unit === 'week' ? ('weekly' as const) : ('monthly' as const),
              priceMicro: BigInt(price),
              postedMicro: BigInt(posted),
            }
          : null,
    }))
  })
}

/**
 * What is set aside of a customer's wallet for instances and addresses, which addresses are theirs, and for which time each
 * that they had cost.
 */
export interface Kept {
  /** By what it is set aside for: its kind and id, and how much, in micro-units. */
  holds: string[]
  /** By the instance that has it, and the id that it is given back by. */
  addresses: string[]
  /** For each stretch the id that it is given back by, and whether it goes on. */
  addressStretches: string[]
}

/** Reads that at one moment, in any database by its address; each list in order. */
export function readKept(url: string, userId: string): Promise<Kept> {
  return readAt(url, async db => {
    const { rows } = await db.execute<{ holds: string[]; addresses: string[]; stretches: string[] }>(sql`
      select array(select subject_kind || ' ' || subject_id || ' ' || amount_micro from wallet_hold
          where user_id = ${userId} and released_at is null and subject_kind in ('instance', 'public_ip')) as holds,
        array(select instance_id || ' ' || id from public_ip where user_id = ${userId}) as addresses,
        array(select subject_id || case when ended_at is null then ' goes on' else ' is over' end
          from usage_interval where user_id = ${userId} and subject_kind = 'public_ip') as stretches`)
    const [row] = rows
    if (!row) throw new Error('the database says nothing')
    const { holds, addresses, stretches } = row
    return { holds: holds.sort(), addresses: addresses.sort(), addressStretches: stretches.sort() }
  })
}

async function readAt<T>(url: string, read: (db: Database) => Promise<T>): Promise<T> {
  const { db, close } = openDatabase({
    url,
    log: pino({ level: 'silent' }),
    poolSize: 1,
    connectTimeoutMs: PATIENCE_MS,
  })
  try {
    return await read(db)
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
        select coalesce(k.key, '') as key, t.id, amount_cents as cents, t.state, (
          select count(*)::int from testcard_intent c where c.reference = t.id::text and c.status <> 'created'
        ) as charges
        from payment_intent t
        left join idempotency k
          on k.operation = 'bill.topup' and k.user_id = t.user_id::text and k.result = t.id::text
        where t.user_id = ${userId}`)
      const instances = await tx.execute<Books['instances'][number]>(sql`
        select coalesce(k.key, '') as key, i.id from instance i
        left join idempotency k
          on k.operation = 'instance.deploy' and k.user_id = i.user_id::text and k.result = i.id
        where i.user_id = ${userId}`)
      const stray = await tx.execute<{ count: number }>(sql`
        select count(*)::int as count from testcard_intent c
        where not exists (select from payment_intent t where t.id::text = c.reference)`)
      // From what happened, not from the balances that the ledger keeps; with what is due and not posted yet.
      const sums = await tx.execute<{ total: string; held: string; from_holds: string; beyond: string }>(sql`
        select (
          coalesce((select sum(amount_cents::bigint * 10000) from payment_intent
            where user_id = ${userId} and state = 'succeeded'), 0)
          + coalesce((select sum(amount_micro) from credit_grant where user_id = ${userId}), 0)
          - coalesce((select sum(amount_micro) from credit_end where user_id = ${userId}), 0)
          - coalesce((select sum(posted_micro) from usage_interval where user_id = ${userId}), 0)
        )::text as total, coalesce((select sum(amount_micro - used_micro) from wallet_hold
          where user_id = ${userId} and released_at is null), 0)::text as held, due.*
        from (
          select coalesce(sum(least(unposted, reserve)), 0)::text as from_holds,
            coalesce(sum(greatest(unposted - reserve, 0)), 0)::text as beyond
          from (${unposted(sql`now()`, sql`i.user_id = ${userId}`)}) u
        ) due`)
      const [row] = sums.rows
      const held = BigInt(row?.held ?? 0) - BigInt(row?.from_holds ?? 0)
      const total = BigInt(row?.total ?? 0) - BigInt(row?.from_holds ?? 0) - BigInt(row?.beyond ?? 0)
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
