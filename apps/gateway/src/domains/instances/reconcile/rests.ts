import { type SQL, sql } from 'drizzle-orm'
import type { Database } from '../../../platform/database/database.ts'
import type { InstanceRow } from '../rows.ts'
import { instance } from '../tables.ts'

/** The most rows of one statement: it holds their locks, and is to be over at once. */
const ROWS_MAX = 100

/** A row that needs no more work for now. */
interface Rest {
  row: Pick<InstanceRow, 'id' | 'version'>
  until: Date
  seenAt: Date | null
  isDone: PromiseWithResolvers<boolean>
}

/**
 * Gives leases back, many in one statement: while one is under way the next ones gather. A gateway with thousands of
 * machines that run as they should does little else.
 * @param owner Whose leases they are.
 * @returns What gives one back until then; false when the row has changed meanwhile, or somebody is about to change it.
 */
export function createRests(db: Database, owner: string) {
  let gathered: Rest[] = []
  let isWriting = false

  async function write(): Promise<void> {
    isWriting = true
    // What rests in the same turn goes along.
    await Promise.resolve()
    while (gathered.length > 0) {
      const now = gathered.slice(0, ROWS_MAX)
      gathered = gathered.slice(ROWS_MAX)
      try {
        const rested = await restAll(db, owner, now)
        for (const { row, isDone } of now) isDone.resolve(rested.has(row.id))
      } catch (error) {
        for (const { isDone } of now) isDone.reject(error)
      }
    }
    isWriting = false
  }

  return (row: Rest['row'], until: Date, seenAt: Date | null): Promise<boolean> => {
    const isDone = Promise.withResolvers<boolean>()
    gathered.push({ row, until, seenAt, isDone })
    if (!isWriting) void write()
    return isDone.promise
  }
}

async function restAll(db: Database, owner: string, rests: readonly Rest[]): Promise<Set<string>> {
  const values = sql.join(
    rests.map(({ row, until, seenAt }) => sql`(${row.id}, ${row.version}::int, ${at(until)}, ${at(seenAt)})`),
    sql`, `,
  )
  // Rows that somebody holds are left out: to wait for one while others are held would be to wait in a circle.
  const { rows } = await db.execute<{ id: string }>(sql`
    with rest (id, version, until, seen_at) as (values ${values}),
      ours as (
        select ${instance.id} from ${instance} join rest using (id)
        where ${instance.version} = rest.version and ${instance.leaseOwner} = ${owner}
        for update of instance skip locked
      )
    update ${instance} set next_attempt_at = rest.until, lease_owner = null, lease_until = null,
      observed_at = coalesce(rest.seen_at, ${instance.observedAt})
    from rest join ours using (id)
    where ${instance.id} = rest.id
    returning ${instance.id}`)
  return new Set(rows.map(({ id }) => id))
}

function at(moment: Date | null): SQL {
  return sql`${moment?.toISOString() ?? null}::timestamptz`
}
