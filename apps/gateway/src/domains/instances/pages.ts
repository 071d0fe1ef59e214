import type { InstanceStatus } from '@berth/contract/instance-states'
import type { Instance } from '@berth/contract/instances'
import { and, count, desc, eq, inArray, isNull, or, type SQL, sql } from 'drizzle-orm'
import type { Catalogue } from '../../platform/config/catalogue.ts'
import { type Cursors, createCursors } from '../../platform/http/cursors.ts'
import type { Sealer } from '../../platform/sealer.ts'
import { type ReadDeps, toInstances } from './reads.ts'
import { shownStatusSql } from './rows.ts'
import { instance } from './tables.ts'

export interface PageDeps extends ReadDeps {
  catalogue: Pick<Catalogue, 'regions' | 'images'>
  /** Seals where pages begin. */
  sealer: Sealer
}

/** Which page of a customer's instances, and how they are narrowed; the contract bounds each of these. */
export interface PageWanted {
  cursor?: string | undefined
  limit: number
  statuses?: readonly InstanceStatus[] | undefined
  /** Stands in the name, the id or the image; blank: anything. */
  search: string
  ids?: readonly string[] | undefined
  /** Says a text of the catalogue in the caller's language: images are searched for by the name that is read. */
  say: (english: string) => string
}

export interface InstancePage {
  items: Instance[]
  next_cursor: string | null
  total: number | null
}

/**
 * Makes the reading of a customer's instances by pages, newest first.
 *
 * Rows are ordered by what never changes of them, and a page begins after the last row of the one before: so a row that
 * is there all the time comes once, whatever is deployed and removed between two pages. The index `instance_page` gives
 * them in this order, so a page costs what it holds, and with filters what the customer has; never what others have.
 */
export function createPages(deps: PageDeps) {
  const cursors = createCursors(deps.sealer)

  /** @throws ApiError `cursor_invalid`. */
  return async (userId: string, wanted: PageWanted): Promise<InstancePage> => {
    const { cursor, limit } = wanted
    const place = placeOf(userId, wanted)
    const own = and(eq(instance.userId, userId), isNull(instance.terminatedAt), ...filtersOf(deps, wanted))
    const rows = await deps.db
      .select()
      .from(instance)
      .where(and(own, cursor === undefined ? undefined : after(cursors, cursor, place)))
      .orderBy(desc(instance.createdAt), desc(instance.id))
      // One more tells whether there is another page.
      .limit(limit + 1)
    const shown = rows.slice(0, limit)
    const last = shown.at(-1)
    const isMore = rows.length > limit
    return {
      items: await toInstances(deps, userId, shown),
      next_cursor: isMore && last ? cursors.seal([last.createdAt.toISOString(), last.id], place) : null,
      total: cursor === undefined ? await totalOf(deps, own, isMore ? null : shown.length) : null,
    }
  }
}

/** A cursor goes on with the list that it was made for: of that customer, narrowed in that way. */
function placeOf(userId: string, { statuses = [], search, ids = [] }: PageWanted): string[] {
  return [userId, plain(search), ...statuses.toSorted(), '', ...ids.toSorted()]
}

function after(cursors: Cursors, cursor: string, place: readonly string[]): SQL {
  const [createdAt = '', id = ''] = cursors.open(cursor, place)
  return sql`(${instance.createdAt}, ${instance.id}) < (${createdAt}::timestamptz, ${id})`
}

function filtersOf(deps: PageDeps, { statuses, search, ids, say }: PageWanted): (SQL | undefined)[] {
  return [
    statuses && inArray(shownStatusSql, [...statuses]),
    ids && inArray(instance.id, [...ids]),
    found(deps, plain(search), say),
  ]
}

/** Names and ids are of plain letters by rule, so the database need fold nothing but their case. */
function found({ catalogue }: PageDeps, text: string, say: PageWanted['say']): SQL | undefined {
  if (text === '') return undefined
  const imageIds = catalogue.images.filter(({ name }) => plain(say(name)).includes(text)).map(({ id }) => id)
  const holds = (
    column:
      | typeof instance.name
      | typeof instance.id
      | typeof instance.imageReference
      | typeof instance.imageName,
  ) => sql`position(${text} in lower(${column})) > 0`
  return or(
    holds(instance.name),
    holds(instance.id),
    holds(instance.imageReference),
    holds(instance.imageName),
    imageIds.length > 0 ? inArray(instance.imageId, imageIds) : undefined,
  )
}

/** Whoever got all of them on the first page has counted them. */
async function totalOf({ db }: PageDeps, own: SQL | undefined, known: number | null): Promise<number> {
  if (known !== null) return known
  const [row] = await db.select({ count: count() }).from(instance).where(own)
  return row?.count ?? 0
}

/** As the console reads what is typed: with an input method for full-width letters, too. */
function plain(text: string): string {
  return text.normalize('NFKC').trim().toLowerCase()
}
