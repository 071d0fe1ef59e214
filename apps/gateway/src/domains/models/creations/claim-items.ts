import type { CreationKind } from '@berth/contract/creations'
import { and, eq, inArray, sql } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Database } from '../../../platform/database/database.ts'
import { isOpen } from '../../customers/customers.ts'
import { type Item, isOpenItem } from './items.ts'
import { creationItem } from './tables.ts'

/** A gateway that says nothing for so long is dead, and another one goes on with what it had. */
export const ITEM_LEASE_MS = 30_000
/** What one gateway, and what all of them make at a time. */
const GATEWAY_MAX: Record<CreationKind, number> = { image: 4, video: 8 }
const ALL_MAX: Record<CreationKind, number> = { image: 40, video: 20 }
/** What one customer holds of a gateway's places: whatever hangs there, the others are made. */
const CUSTOMER_MAX: Record<CreationKind, number> = { image: 2, video: 2 }
/** What one model holds of a gateway's places, and of all, where there are others of its kind: its servers may hang. */
const MODEL_SHARE = 0.5

/**
 * Takes items that nobody works on, as many as there is room for. Customers take turns: who has many in line keeps nobody
 * waiting who has one. Neither a customer nor a model holds all places. What a suspended customer has in line is not begun.
 * @param working How many of a kind this gateway works on already.
 * @param modelsOfKind How many models of the kind there are.
 */
export async function claimItems(
  db: Database,
  input: { clock: Clock; owner: string; kind: CreationKind; working: number; modelsOfKind: number },
): Promise<Item[]> {
  const { clock, owner, kind, working } = input
  const share = input.modelsOfKind > 1 ? MODEL_SHARE : 1
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
        select id, user_id, model_id, created_at, number, server,
          coalesce(leased_until >= ${now}, false) as held,
          coalesce(leased_until >= ${now} and owner = ${owner}, false) as here
        from creation_item
        where kind = ${kind} and status in ('queued', 'rendering', 'encoding')),
      -- Once over customers: each one's turns, by what it holds and what waits before.
      turns as (
        select *,
          row_number() over (partition by user_id order by held desc, created_at, number) as turn,
          count(*) filter (where here) over (partition by user_id)
            + row_number() over (partition by user_id, held order by created_at, number) as customer_here
        from open
        -- What a server has begun is followed; the rest of who is kept out waits.
        where held or server is not null or ${isOpen(sql`open.user_id`)}),
      -- And once over models, in the order in which items are taken.
      places as (
        select *,
          count(*) filter (where here) over (partition by model_id) + in_model as model_here,
          count(*) filter (where held) over (partition by model_id) + in_model as model_all
        from (
          select *, row_number() over (partition by model_id, may_be order by turn, created_at, id) as in_model
          from (select *, not held and customer_here <= ${CUSTOMER_MAX[kind]}::int as may_be from turns) as waiting
        ) as ranked)
      select id from places
      where may_be and model_here <= ${GATEWAY_MAX[kind] * share}::int and model_all <= ${ALL_MAX[kind] * share}::int
      order by turn, created_at, id
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
