import { and, asc, eq, isNull, or, sql } from 'drizzle-orm'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database/database.ts'
import { RECONCILE_LIMITS, type ReconcileLimits } from './reconcile/limits.ts'
import type { InstanceRow } from './rows.ts'
import { instance } from './tables.ts'

/** Instances that one answer lists. */
const LISTED_MAX = 500

/** An instance as its operator sees it. */
export type SeenInstance = Pick<
  InstanceRow,
  | 'id'
  | 'userId'
  | 'name'
  | 'kind'
  | 'regionCode'
  | 'engineId'
  | 'desired'
  | 'status'
  | 'statusSince'
  | 'attempts'
  | 'failureCode'
  | 'failureDetail'
  | 'reasonCode'
  | 'reasonDetail'
  | 'billingType'
  | 'mayRun'
>

/** What an instance hangs in; null where nothing is wrong with it. @param now Against which its stay in its status counts. */
function stallOf(
  row: Pick<SeenInstance, 'status' | 'statusSince' | 'attempts' | 'desired'>,
  now: Date,
  limits: Pick<ReconcileLimits, 'statusMs'> = RECONCILE_LIMITS,
): string | null {
  const maxMs = limits.statusMs[row.status]
  const stayMs = now.getTime() - row.statusSince.getTime()
  if (maxMs !== undefined && stayMs > maxMs) return `${row.status} for too long`
  if (row.status === 'unknown') return 'nobody sees its machine'
  if (row.status === 'error' && row.desired === 'running') return 'failed'
  return row.attempts > 0 ? `${row.attempts} tries failed` : null
}

/** What operators see of instances of all customers (R6.5). */
export function createInstanceDesk({ db, clock }: { db: Database; clock: Clock }) {
  const there = isNull(instance.terminatedAt)
  return {
    /** Instances that hang: too long in a status, unseen, failed or tried in vain; those that hang longest first. */
    async stuck(): Promise<(SeenInstance & { stall: string })[]> {
      const now = clock.now()
      const perhaps = or(
        sql`${instance.status} in ('creating', 'pulling', 'restarting', 'stopping', 'deleting', 'unknown', 'error')`,
        sql`${instance.attempts} > 0`,
      )
      const rows = await db
        .select()
        .from(instance)
        .where(and(there, perhaps))
        .orderBy(asc(instance.statusSince), asc(instance.id))
        .limit(LISTED_MAX)
      return rows.flatMap(row => {
        const stall = stallOf(row, now)
        return stall === null ? [] : [{ ...row, stall }]
      })
    },

    /** Instances that are not gone, the newest last. @param which.regionCode Null: of all regions. */
    list: ({ regionCode }: { regionCode: string | null }): Promise<SeenInstance[]> =>
      db
        .select()
        .from(instance)
        .where(and(there, regionCode === null ? undefined : eq(instance.regionCode, regionCode)))
        .orderBy(asc(instance.createdAt), asc(instance.id))
        .limit(LISTED_MAX),

    /** One instance; null where there is none. */
    async show(id: string): Promise<SeenInstance | null> {
      const [row] = await db
        .select()
        .from(instance)
        .where(and(there, eq(instance.id, id)))
      return row ?? null
    },
  }
}
