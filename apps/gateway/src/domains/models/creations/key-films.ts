import type { Creation } from '@berth/contract/creations'
import { and, asc, desc, eq, sql } from 'drizzle-orm'
import type { Database } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Show, Telling } from './show-creations.ts'
import { creation } from './tables.ts'

/** Whose films: a key sees those alone that it had made. */
export interface KeyHolderIds {
  userId: string
  keyId: string
}

/** Films that were made with a key, for whoever has it. */
export function createKeyFilms({ db, show }: { db: Database; show: Pick<Show, 'runs'> }) {
  const own = ({ userId, keyId }: KeyHolderIds) =>
    and(eq(creation.userId, userId), eq(creation.keyId, keyId), eq(creation.kind, 'video'))

  return {
    /** @throws ApiError `not_found`, as well for what another key had made. */
    async get(holder: KeyHolderIds, id: string, telling: Telling): Promise<Creation> {
      const [row] = await db
        .select({ id: creation.id })
        .from(creation)
        .where(and(own(holder), eq(creation.id, id)))
      const [film] = row ? await show.runs(db, [id], telling) : []
      if (!film) throw new ApiError('not_found')
      return film
    },

    /**
     * @param page.after The id after which it begins; null at the beginning.
     * @returns One more than asked for where there are more.
     */
    async list(
      holder: KeyHolderIds,
      { after, limit, isAscending }: { after: string | null; limit: number; isAscending: boolean },
      telling: Telling,
    ): Promise<Creation[]> {
      const place = sql`(select ${creation.createdAt}, ${creation.id} from ${creation} where ${creation.id} = ${after})`
      const row = sql`(${creation.createdAt}, ${creation.id})`
      const order = isAscending ? asc : desc
      const rows = await db
        .select({ id: creation.id })
        .from(creation)
        .where(
          and(
            own(holder),
            after === null ? undefined : isAscending ? sql`${row} > ${place}` : sql`${row} < ${place}`,
          ),
        )
        .orderBy(order(creation.createdAt), order(creation.id))
        .limit(limit + 1)
      return await show.runs(
        db,
        rows.map(({ id }) => id),
        telling,
      )
    },
  }
}
