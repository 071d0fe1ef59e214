import { and, eq, inArray, isNull, lt, lte, or, type SQL, sql } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Queryable } from '../../../platform/database/database.ts'
import { sha256Hex } from '../../../platform/hash.ts'
import { attempt } from '../tables.ts'

/** How many attempts a window takes, and how long more are refused once it is full. */
export interface AttemptRule {
  max: number
  windowMs: number
  blockMs: number
}

export interface AttemptCount {
  count: number
  startedAt: Date
  /** Set while more attempts are refused. */
  blockedUntil: Date | null
}

/**
 * What is counted, as a key.
 * @param parts Such as `login`, an address and a network; together they are hashed.
 */
export function attemptKey(...parts: string[]): string {
  return sha256Hex(JSON.stringify(parts))
}

/** Counts attempts; one row for each key, changed by one statement, so that parallel ones are all counted. */
export function createAttempts(deps: { clock: Clock }) {
  const { clock } = deps
  return {
    /**
     * Counts one more, whether or not more are refused.
     * @returns The count in this window with this one, and until when more are refused.
     */
    async add(q: Queryable, key: string, rule: AttemptRule): Promise<AttemptCount> {
      const now = clock.now()
      const [row] = await upsert(q, key, rule, now)
      if (!row) throw new Error('an attempt was not counted')
      return current(row, now)
    },

    /**
     * Counts one more unless more are refused; of parallel ones no more than the rule's pass.
     * @returns Null when it passed; else until when it is refused.
     */
    async take(q: Queryable, key: string, rule: AttemptRule): Promise<Date | null> {
      const now = clock.now()
      const free = or(isNull(attempt.blockedUntil), lte(attempt.blockedUntil, now))
      const [row] = await upsert(q, key, rule, now, free)
      if (row) return null
      const [blocked] = await q.select().from(attempt).where(eq(attempt.key, key))
      return blocked?.blockedUntil ?? after(now, rule.blockMs)
    },

    /** Reads counts without changing them; a key without attempts is not in the answer. */
    async read(q: Pick<Queryable, 'select'>, keys: string[]): Promise<Map<string, AttemptCount>> {
      const rows = await q.select().from(attempt).where(inArray(attempt.key, keys))
      return new Map(rows.map(row => [row.key, current(row, clock.now())]))
    },

    /** Reads one count under its row's lock, so that no other attempt is counted until the transaction ends. */
    async lock(q: Pick<Queryable, 'select'>, key: string): Promise<AttemptCount | null> {
      const [row] = await q.select().from(attempt).where(eq(attempt.key, key)).for('update')
      return row ? current(row, clock.now()) : null
    },

    async forget(q: Pick<Queryable, 'delete'>, key: string): Promise<void> {
      await q.delete(attempt).where(eq(attempt.key, key))
    },

    /** Removes what no window reaches back to. */
    async purge(q: Pick<Queryable, 'delete'>, olderThanMs: number): Promise<void> {
      const now = clock.now()
      await q
        .delete(attempt)
        .where(
          and(
            lt(attempt.startedAt, before(now, olderThanMs)),
            or(isNull(attempt.blockedUntil), lt(attempt.blockedUntil, now)),
          ),
        )
    },
  }
}
export type Attempts = ReturnType<typeof createAttempts>

function upsert(q: Queryable, key: string, rule: AttemptRule, now: Date, onlyIf?: SQL) {
  const over = lt(attempt.startedAt, before(now, rule.windowMs))
  const count = sql<number>`case when ${over} then 1 else ${attempt.count} + 1 end`
  const startedAt = sql.param(now, attempt.startedAt)
  const until = after(now, rule.blockMs)
  return q
    .insert(attempt)
    .values({ key, count: 1, startedAt: now, blockedUntil: rule.max <= 1 ? until : null })
    .onConflictDoUpdate({
      target: attempt.key,
      set: {
        count,
        startedAt: sql`case when ${over} then ${startedAt}::timestamptz else ${attempt.startedAt} end`,
        blockedUntil: sql`case when ${count} >= ${rule.max} then ${sql.param(until, attempt.blockedUntil)}::timestamptz end`,
      },
      ...(onlyIf ? { setWhere: onlyIf } : {}),
    })
    .returning()
}

function current(row: AttemptCount, now: Date): AttemptCount {
  return {
    count: row.count,
    startedAt: row.startedAt,
    blockedUntil: row.blockedUntil && row.blockedUntil > now ? row.blockedUntil : null,
  }
}

function before(now: Date, ms: number): Date {
  return new Date(now.getTime() - ms)
}

function after(now: Date, ms: number): Date {
  return new Date(now.getTime() + ms)
}
