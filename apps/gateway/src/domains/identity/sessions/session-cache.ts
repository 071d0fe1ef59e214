import type { Clock } from '../../../platform/clock.ts'
import type { Caller } from '../../../platform/http/handler.ts'

/** How long an answer is used without asking the database: what a lost notification can cost at most. */
export const SESSION_CACHE_MS = 5_000
/** Tokens that are remembered; about 400 bytes each. */
const SESSION_CACHE_MAX = 10_000

/** A token whose signature was checked. */
export interface CachedSession {
  sessionId: string
  userId: string
  /** Null when the session was ended. */
  caller: Caller | null
  goodUntilMs: number
}

/**
 * Remembers checked tokens by their hash. An entry whose time is over still saves checking the signature again.
 * Entries are put back at the end each time they are looked up anew, so those in use are the last to be dropped.
 */
export function createSessionCache(deps: { clock: Clock; max?: number }) {
  const { clock, max = SESSION_CACHE_MAX } = deps
  const entries = new Map<string, CachedSession>()
  let generation = 0

  return {
    find: (tokenHash: string): CachedSession | undefined => entries.get(tokenHash),

    isGood: (entry: CachedSession): boolean => entry.goodUntilMs > clock.now().getTime(),

    /** Says which answers of the database are still news: ask before the query, hand it to `keep` after. */
    generation: (): number => generation,

    /**
     * Remembers what the database said, unless something was dropped while it was asked: what it said may be
     * from before the change.
     */
    keep(tokenHash: string, entry: Omit<CachedSession, 'goodUntilMs'>, expiresAt: Date, since: number): void {
      if (since !== generation) return
      const goodUntilMs = Math.min(clock.now().getTime() + SESSION_CACHE_MS, expiresAt.getTime())
      entries.delete(tokenHash)
      entries.set(tokenHash, { ...entry, goodUntilMs })
      if (entries.size <= max) return
      for (const oldest of entries.keys()) {
        entries.delete(oldest)
        break
      }
    },

    /** Drops what is remembered of one session or of all sessions of a user. */
    drop(id: string): void {
      generation += 1
      for (const [tokenHash, entry] of entries) {
        if (entry.sessionId === id || entry.userId === id) entries.delete(tokenHash)
      }
    },

    dropAll(): void {
      generation += 1
      entries.clear()
    },

    size: (): number => entries.size,
  }
}
