import type { CreationKind } from '@berth/contract/creations'
import { and, eq, inArray, sql } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Database } from '../../../platform/database/database.ts'
import { type Item, isOpenItem } from './items.ts'
import { creationItem } from './tables.ts'

/** A gateway that says nothing for so long is dead, and another one goes on with what it had. */
export const ITEM_LEASE_MS = 30_000
/** What one gateway, and what all of them make at a time. */
const GATEWAY_MAX: Record<CreationKind, number> = { image: 4, video: 8 }
const ALL_MAX: Record<CreationKind, number> = { image: 40, video: 20 }

/**
 * Takes items that nobody works on, as many as there is room for. Customers take turns: who has many in line keeps nobody
 * waiting who has one.
 * @param working How many of a kind this gateway works on already.
 */
export async function claimItems(
  db: Database,
  { clock, owner, kind, working }: { clock: Clock; owner: string; kind: CreationKind; working: number },
): Promise<Item[]> {
  const own = GATEWAY_MAX[kind] - working
  if (own <= 0) return []
  // Asked every few seconds: most of the time there is nothing.
  const now = clock.now()
  const [any] = await db
    .select({ id: creationItem.id })
    .from(creationItem)
    .where(and(eq(creationItem.kind, kind), isOpenItem(), isFree(now)))
    .limit(1)
  if (!any) return []
  return await db.transaction(async tx => {
    // One gateway at a time looks how much room there is.
    await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended('creations claim', 0))`)
    const { rows } = await tx.execute<{ id: string }>(sql`
      with open as (
        select id, user_id, created_at, coalesce(leased_until >= ${now}, false) as held,
          row_number() over (
            partition by user_id order by coalesce(leased_until >= ${now}, false) desc, created_at, number
          ) as turn
        from creation_item
        where kind = ${kind} and status in ('queued', 'rendering', 'encoding'))
      select id from open where not held order by turn, created_at, id
      limit greatest(0, least(${own}::int, ${ALL_MAX[kind]}::int - (select count(*) from open where held)::int))`)
    if (rows.length === 0) return []
    return await tx
      .update(creationItem)
      .set({
        owner,
        leasedUntil: new Date(now.getTime() + ITEM_LEASE_MS),
        attempts: sql`${creationItem.attempts} + 1`,
        // A picture is begun anew; with a film somebody goes on.
        ...(kind === 'image' && { status: 'queued', renderingAt: null, encodingAt: null }),
      })
      .where(
        inArray(
          creationItem.id,
          rows.map(({ id }) => id),
        ),
      )
      .returning()
  })
}

const isFree = (now: Date) =>
  sql`(${creationItem.leasedUntil} is null or ${creationItem.leasedUntil} < ${now})`
