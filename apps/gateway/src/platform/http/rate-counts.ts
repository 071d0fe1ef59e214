import { lt, sql } from 'drizzle-orm'
import type { Clock } from '../clock.ts'
import type { Database, Queryable } from '../database/database.ts'
import { rateCount } from '../database/tables.ts'
import { sha256Hex } from '../hash.ts'

/** Calls of one key in the window that is running, and when that is over. */
export interface RateCount {
  current: number
  ttlMs: number
}

export interface RateRule {
  max: number
  windowMs: number
}

/** Counts one call of a key. */
export type CountCall = (key: string, rule: RateRule) => RateCount | Promise<RateCount>
/** Counts what a call of a key takes, or gives some of it back. */
export type CountAmount = (key: string, rule: RateRule, amount: number) => RateCount | Promise<RateCount>

/** Keys that one gateway remembers at once for one class of calls; the oldest go first. */
const KEYS_MAX = 20_000
/** A gateway tells the others of its calls each time that they are so much of what is allowed. */
const SETTLED_SHARE = 0.05
/** After the database failed to take a count, it is left alone for this long. */
const SETTLE_AGAIN_MS = 1_000

interface RateCountsDeps {
  db: Database
  clock: Clock
}

/** Counts calls over all gateways, in fixed windows that begin with a key's first call. */
export function createRateCounts({ db, clock }: RateCountsDeps) {
  const nowMs = () => clock.now().getTime()

  /** Adds calls to what all gateways counted. */
  async function add(
    key: string,
    count: number,
    windowMs: number,
    q: Pick<Queryable, 'insert'> = db,
  ): Promise<RateCount> {
    const isOver = sql`${rateCount.endsAt} <= now()`
    const endsAt = sql`now() + make_interval(secs => ${windowMs / 1_000})`
    const [row] = await q
      .insert(rateCount)
      .values({ key: sha256Hex(key), count: Math.max(0, count), endsAt })
      .onConflictDoUpdate({
        target: rateCount.key,
        set: {
          count: sql`greatest(0, case when ${isOver} then ${count} else ${rateCount.count} + ${count} end)`,
          endsAt: sql`case when ${isOver} then ${endsAt} else ${rateCount.endsAt} end`,
        },
      })
      .returning({
        current: rateCount.count,
        ttlMs: sql<number>`(extract(epoch from ${rateCount.endsAt} - now()) * 1000)::float8`,
      })
    if (!row) throw new Error('a call was not counted')
    return row
  }

  return {
    /**
     * Counts each call in the database, so that all gateways together let through no more than allowed. A key that is
     * over its limit is remembered here until its window is over, and costs the database nothing.
     */
    exact(name: string): CountCall {
      const over = createRecent<{ until: number; current: number }>()
      return async (key, { max, windowMs }) => {
        const known = over.get(key)
        const now = nowMs()
        if (known && known.until > now) return { current: known.current, ttlMs: known.until - now }
        const counted = await add(`${name} ${key}`, 1, windowMs)
        if (counted.current > max) {
          over.set(key, { until: now + counted.ttlMs, current: counted.current })
        }
        return counted
      }
    },

    /** Counts amounts in the database, so that all gateways together let through no more than allowed. */
    amounts(name: string): CountAmount {
      return (key, { windowMs }, amount) => add(`${name} ${key}`, amount, windowMs)
    },

    /** Counts in a transaction: what is undone was not counted, and who counts the same key at once waits for it. */
    within(name: string) {
      return (
        q: Pick<Queryable, 'insert'>,
        key: string,
        { windowMs }: Pick<RateRule, 'windowMs'>,
        amount = 1,
      ) => add(`${name} ${key}`, amount, windowMs, q)
    },

    /**
     * Counts here, and tells the database each time that a twentieth of what is allowed has come together; what the
     * others told is learnt by that. A call never waits for it. N gateways let through at most N - 1 twentieths more
     * than allowed, and what comes while the last count is on its way; without the database each counts for itself.
     */
    shared(name: string): (key: string, rule: RateRule, amount?: number) => RateCount {
      const windows = createRecent<SharedWindow>()
      const current = ({ known, under_way, here }: SharedWindow) => known + under_way + here

      async function settle(key: string, own: SharedWindow, windowMs: number): Promise<void> {
        own.under_way = own.here
        own.here = 0
        try {
          const { current: all, ttlMs } = await add(`${name} ${key}`, own.under_way, windowMs)
          own.known = all
          own.endsAt = nowMs() + ttlMs
        } catch {
          own.here += own.under_way
          own.settleAfter = nowMs() + SETTLE_AGAIN_MS
        }
        own.under_way = 0
      }

      return (key, { max, windowMs }, amount = 1) => {
        const now = nowMs()
        let own = windows.get(key)
        if (!own || own.endsAt <= now) {
          own = { known: 0, under_way: 0, here: 0, endsAt: now + windowMs, settleAfter: 0 }
          windows.set(key, own)
        }
        own.here += amount
        const isDue = Math.abs(own.here) >= Math.max(1, Math.floor(max * SETTLED_SHARE))
        if (isDue && own.under_way === 0 && own.settleAfter <= now && current(own) - amount <= max) {
          void settle(key, own, windowMs)
        }
        return { current: current(own), ttlMs: own.endsAt - now }
      }
    },

    /** Removes windows that are over. */
    async prune(): Promise<void> {
      await db.delete(rateCount).where(lt(rateCount.endsAt, sql`now()`))
    },
  }
}
export type RateCounts = ReturnType<typeof createRateCounts>

/** One key's calls, as one gateway knows of them. */
interface SharedWindow {
  /** Of all gateways, as the database said it last. */
  known: number
  /** Of this one, on their way to the database. */
  under_way: number
  /** Of this one, not told yet. */
  here: number
  endsAt: number
  settleAfter: number
}

/** The newest keys and their values. */
function createRecent<Value>() {
  const entries = new Map<string, Value>()
  return {
    get: (key: string): Value | undefined => entries.get(key),
    set(key: string, value: Value): void {
      entries.delete(key)
      entries.set(key, value)
      if (entries.size <= KEYS_MAX) return
      for (const oldest of entries.keys()) {
        entries.delete(oldest)
        break
      }
    },
  }
}
