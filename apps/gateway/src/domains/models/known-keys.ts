import { and, eq, gt, isNull, lt, or, type SQL, sql } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database/database.ts'
import { sha256Hex } from '../../platform/hash.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import { stopsKey } from '../budgets/budgets.ts'
import { isOpen, suspensionOf } from '../customers/customers.ts'
import { isKeyText } from './key-text.ts'
import { apiKey } from './tables.ts'

/** When a key was last used is written down no more often than this. */
export const LAST_USED_STEP_MS = 60_000
/** So long what was read of a key is believed where its change is not told, since the connection that tells it is broken. */
const KNOWN_MS = 30_000
const KNOWN_MAX = 20_000

/** Who calls with a key, and how it is limited. */
export interface KeyHolder {
  keyId: string
  userId: string
  /** The models that it may name; null all of them. */
  models: readonly string[] | null
  requestsPerMinute: number | null
  tokensPerMinute: number | null
  /** Whether it has a budget that stops it. */
  isBudgeted: boolean
}

/** A key as it was read. */
interface Known {
  holder: KeyHolder
  expiresAt: Date | null
  untilMs: number
}

/** Those of keys that calls may be made with. */
export function isUsable(now: Date): SQL | undefined {
  return and(isNull(apiKey.revokedAt), or(isNull(apiKey.expiresAt), gt(apiKey.expiresAt, now)))
}

/**
 * Whose keys are, so that a key that calls often is not read for each call. What is read is believed while changes are heard
 * (`MODEL_CALLER_CHANNEL`), and for some seconds at the most.
 */
export function createKnownKeys({
  db,
  clock,
  log,
}: {
  db: Database
  clock: Clock
  log: Pick<Logger, 'warn'>
}) {
  const known = new Map<string, Known>()
  let hears = false
  /** Grows with each change: what was being read meanwhile may be of before. */
  let changes = 0

  async function markUsed(id: string, lastUsedAt: Date | null, now: Date): Promise<void> {
    const step = new Date(now.getTime() - LAST_USED_STEP_MS)
    if (lastUsedAt && lastUsedAt > step) return
    try {
      // The condition holds back the other calls that saw the same old time.
      await db
        .update(apiKey)
        .set({ lastUsedAt: now })
        .where(and(eq(apiKey.id, id), or(isNull(apiKey.lastUsedAt), lt(apiKey.lastUsedAt, step))))
    } catch (error) {
      log.warn({ err: error }, 'when an API key was last used could not be written down')
    }
  }

  async function read(hash: string, now: Date): Promise<KeyHolder | null> {
    const before = changes
    const isBudgeted = stopsKey(sql`api_key.id`)
    const [found] = await db
      .select({ row: apiKey, isOpen: isOpen(apiKey.userId), isBudgeted })
      .from(apiKey)
      .where(and(eq(apiKey.hash, hash), isUsable(now)))
    if (!found) return null
    const { id: keyId, userId, models, requestsPerMinute, tokensPerMinute, ...row } = found.row
    if (!found.isOpen) {
      if (await suspensionOf(db, userId)) throw new ApiError('account_suspended')
      return null
    }
    const holder = { keyId, userId, models, requestsPerMinute, tokensPerMinute, isBudgeted: found.isBudgeted }
    if (hears && before === changes) {
      if (known.size >= KNOWN_MAX) known.clear()
      known.set(hash, {
        holder,
        expiresAt: row.expiresAt,
        untilMs: performance.now() + KNOWN_MS,
      })
    }
    await markUsed(keyId, row.lastUsedAt, now)
    return holder
  }

  return {
    /**
     * Says who a key belongs to.
     * @param key What came with a call.
     * @returns Null where it is no key, over, or revoked.
     * @throws ApiError `account_suspended` while the operator keeps its customer out: nothing is read with it either.
     */
    async authenticate(key: string): Promise<KeyHolder | null> {
      if (!isKeyText(key)) return null
      const now = clock.now()
      const hash = sha256Hex(key)
      const one = known.get(hash)
      const isFresh = one && one.untilMs > performance.now() && (!one.expiresAt || one.expiresAt > now)
      return isFresh ? one.holder : await read(hash, now)
    },

    /** Believes nothing any more of what was read of a customer's keys; null: of anybody's. */
    forget(userId: string | null): void {
      changes += 1
      if (userId === null) known.clear()
      else for (const [hash, { holder }] of known) if (holder.userId === userId) known.delete(hash)
    },

    /** Whether changes are heard from now on: nothing is believed where they are not. */
    hear(does: boolean): void {
      hears = does
      changes += 1
      known.clear()
    },
  }
}
export type KnownKeys = ReturnType<typeof createKnownKeys>
