import type { CallData } from '@berth/contract/call'
import type {
  Creation,
  CreationFilter,
  CreationKind,
  creationOutlook,
  listCreations,
} from '@berth/contract/creations'
import {
  CREATION_KEPT_DAYS,
  CREATION_SEED_MAX,
  CREATION_STORED_BYTES_MAX,
  type Currency,
} from '@berth/contract/limits'
import { and, desc, eq, exists, gte, or, type SQL, sql } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Database, Queryable } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { createCursors } from '../../../platform/http/cursors.ts'
import type { Sealer } from '../../../platform/sealer.ts'
import { storedBytes } from './ask-creations.ts'
import { isOpenItem, ownRun } from './items.ts'
import type { Show, Telling } from './show-creations.ts'
import { creation, creationItem } from './tables.ts'

const OUTLOOK_DAYS = 7
const DAY_MS = 86_400_000
/** As many as tell how long a model takes. */
const OUTLOOK_ITEMS = 50

interface ListDeps {
  db: Database
  clock: Clock
  sealer: Sealer
  show: Show
  currencyOf(userId: string): Promise<Currency>
}

interface ListFilter {
  kind?: CreationKind | undefined
  show: CreationFilter
  search?: string | undefined
}

/** What customers have made, as lists. */
export function createCreationLists({ db, clock, sealer, show, currencyOf }: ListDeps) {
  const cursors = createCursors(sealer)

  async function counts(userId: string, kind: CreationKind | undefined) {
    const month = new Date(clock.now())
    month.setUTCDate(1)
    month.setUTCHours(0, 0, 0, 0)
    const items = sql<number>`count(*)::int`
    const [row] = await db
      .select({
        all: items,
        starred: sql<number>`(count(*) filter (where ${creationItem.starred}))::int`,
        not_made: sql<number>`(count(*) filter (where ${isNotMade}))::int`,
        open: sql<number>`(count(*) filter (where ${isOpenItem()}))::int`,
        monthMicro:
          sql<bigint>`coalesce(sum(${creationItem.costMicro}) filter (where ${gte(creationItem.createdAt, month)}), 0)`.mapWith(
            BigInt,
          ),
      })
      .from(creationItem)
      .where(and(eq(creationItem.userId, userId), kind && eq(creationItem.kind, kind)))
    const { monthMicro = 0n, ...all } = row ?? { all: 0, starred: 0, not_made: 0, open: 0 }
    return { all, monthMicro }
  }

  return {
    /** A page of a customer's runs; on the first one what all of them come to. @throws ApiError `cursor_invalid` */
    async page(
      userId: string,
      { cursor, limit, ...filter }: ListFilter & { cursor?: string | undefined; limit: number },
      telling: Telling,
    ): Promise<CallData<typeof listCreations>> {
      const place = ['creations', userId, filter.kind ?? '', filter.show, filter.search ?? '']
      const after = cursor === undefined ? null : cursors.open(cursor, place)
      const rows = await readRuns(db, userId, filter, after, limit + 1)
      const shown = rows.slice(0, limit)
      const last = rows.length > limit ? shown.at(-1) : undefined
      const totals = cursor === undefined ? await counts(userId, filter.kind) : null
      return {
        items: await show.runs(
          db,
          shown.map(({ id }) => id),
          telling,
        ),
        next_cursor: last ? cursors.seal([last.createdAt.toISOString(), last.id], place) : null,
        counts: totals?.all ?? null,
        month_cost_micro: totals && String(totals.monthMicro),
        currency: await currencyOf(userId),
        kept_days: CREATION_KEPT_DAYS,
        stored_bytes: await storedBytes(db, userId),
        stored_bytes_max: CREATION_STORED_BYTES_MAX,
      }
    },

    /** @throws ApiError `not_found`, as well for another customer's. */
    async get(userId: string, id: string, telling: Telling): Promise<Creation> {
      await ownRun(db, userId, id)
      const [found] = await show.runs(db, [id], telling)
      if (!found) throw new ApiError('not_found')
      return found
    },

    /** How long a model takes. Of one that nobody has called nothing is known. */
    async outlook(modelId: string, kind: CreationKind): Promise<CallData<typeof creationOutlook>> {
      const since = new Date(clock.now().getTime() - OUTLOOK_DAYS * DAY_MS)
      const { rows } = await db.execute<{ median: number | null }>(sql`
        select percentile_cont(0.5) within group (order by took)::float8 as median from (
          select extract(epoch from item.ended_at - item.rendering_at) * 1000 / coalesce(run.seconds, 1) as took
          from creation_item as item join creation as run on run.id = item.creation_id
          where item.model_id = ${modelId} and item.status = 'saved' and item.ended_at > ${since}
            and item.rendering_at is not null
          order by item.ended_at desc limit ${OUTLOOK_ITEMS}) as lately`)
      const [open] = await db
        .select({ items: sql<number>`count(*)::int` })
        .from(creationItem)
        .where(and(eq(creationItem.kind, kind), isOpenItem()))
      const median = rows[0]?.median
      return {
        median_ms: median === null || median === undefined ? null : Math.round(Number(median)),
        waiting_before: open?.items ?? 0,
      }
    },
  }
}

const isNotMade = sql`${creationItem.status} in ('failed', 'stopped')`

const IS: Record<Exclude<CreationFilter, 'all'>, () => SQL> = {
  starred: () => sql`${creationItem.starred}`,
  not_made: () => isNotMade,
  open: isOpenItem,
}

/** Runs of a customer, newest first, after one of them. */
async function readRuns(
  q: Pick<Queryable, 'select'>,
  userId: string,
  { kind, show, search }: ListFilter,
  after: readonly string[] | null,
  limit: number,
) {
  const withItem = (condition: SQL | undefined) =>
    exists(
      q
        .select({ one: sql`1` })
        .from(creationItem)
        .where(and(eq(creationItem.creationId, creation.id), condition)),
    )
  const [createdAt, id] = after ?? []
  return await q
    .select({ id: creation.id, createdAt: creation.createdAt })
    .from(creation)
    .where(
      and(
        eq(creation.userId, userId),
        kind && eq(creation.kind, kind),
        show === 'all' ? undefined : withItem(IS[show]()),
        search ? or(hasWords(search), seedIn(search) && withItem(seedIn(search))) : undefined,
        createdAt && id
          ? sql`(${creation.createdAt}, ${creation.id}) < (${createdAt}::timestamptz, ${id}::uuid)`
          : undefined,
      ),
    )
    .orderBy(desc(creation.createdAt), desc(creation.id))
    .limit(limit)
}

/** Words as they stand somewhere in a prompt; no sign means anything. */
function hasWords(search: string): SQL {
  return sql`position(lower(${search}) in lower(${creation.prompt})) > 0`
}

function seedIn(search: string): SQL | undefined {
  const seed = /^\d{1,10}$/.test(search) ? Number(search) : Number.NaN
  return seed <= CREATION_SEED_MAX ? eq(creationItem.seed, seed) : undefined
}
