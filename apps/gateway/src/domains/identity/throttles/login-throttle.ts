import { and, desc, eq, gt } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { session, userAccount } from '../tables.ts'
import { type AttemptCount, type AttemptRule, type Attempts, attemptKey } from './attempts.ts'
import { networkOf } from './network.ts'

const MINUTE_MS = 60_000

/**
 * Wrong passwords from one network on one account. The numbers are Casdoor's own. Counted for the pair, so that
 * a stranger who guesses from elsewhere never locks the owner out.
 */
const PAIR_RULE: AttemptRule = { max: 5, windowMs: 15 * MINUTE_MS, blockMs: 15 * MINUTE_MS }

/** The same while the account is under attack, from a network that has not signed in to it of late. */
const PAIR_RULE_SLOWED: AttemptRule = { ...PAIR_RULE, max: 2 }

/** Wrong passwords from one network over all accounts: more than an office mistypes. */
export const NETWORK_RULE: AttemptRule = { max: 50, windowMs: 15 * MINUTE_MS, blockMs: 15 * MINUTE_MS }

/** Wrong passwords on one account over all networks; from then on strangers to the account are slowed down. */
export const ACCOUNT_RULE: AttemptRule = { max: 25, windowMs: 15 * MINUTE_MS, blockMs: 15 * MINUTE_MS }

/**
 * From so many wrong passwords on, a captcha comes before the next one, as long as the counts' windows last. One who
 * mistypes twice meets it; an account that is guessed at from many networks asks for it sooner than it slows down,
 * and a network that tries many accounts sooner than it is refused. Only the count of the pair is forgotten by a
 * sign-in: were the account's, anybody could watch from afar whether a name is somebody's and signs in.
 */
export const CAPTCHA_AFTER = { pair: 2, account: 5, network: 10 } as const

/** What a slowed-down sign-in waits before its password is looked at. */
export const SLOWED_LOGIN_WAIT_MS = 1_500

/** A network is known to an account for this long after a sign-in, and only by the newest of them. */
const KNOWN_NETWORK_MS = 30 * 24 * 60 * MINUTE_MS
const KNOWN_SESSIONS_MAX = 50

/** Longest window or block of the rules: older counts say nothing. */
export const LOGIN_ATTEMPTS_KEPT_MS = 15 * MINUTE_MS

/** A sign-in that may go on to its password. */
export interface AdmittedLogin {
  /** The account is under attack and the network is a stranger to it: fewer tries, after a wait. */
  slowed: boolean
  /** Enough passwords were wrong that a captcha comes first. */
  captcha: boolean
}

interface LoginThrottleDeps {
  db: Database
  clock: Clock
  attempts: Attempts
}

/**
 * Limits guessing. It works on what was typed, so a name that nobody has is treated like any other. What it
 * refuses, it refuses for right passwords too; so every limit but the one of the pair lets through a network that
 * has signed in to the account of late.
 */
export function createLoginThrottle({ db, clock, attempts }: LoginThrottleDeps) {
  const keysOf = (email: string, address: string) => ({
    pair: attemptKey('login', email, networkOf(address)),
    network: attemptKey('login-network', networkOf(address)),
    account: attemptKey('login-account', email),
  })

  async function isKnown(email: string, address: string): Promise<boolean> {
    const since = new Date(clock.now().getTime() - KNOWN_NETWORK_MS)
    const rows = await db
      .select({ address: session.address })
      .from(session)
      .innerJoin(userAccount, eq(userAccount.id, session.userId))
      .where(and(eq(userAccount.email, email), gt(session.createdAt, since)))
      .orderBy(desc(session.createdAt))
      .limit(KNOWN_SESSIONS_MAX)
    const network = networkOf(address)
    return rows.some(row => networkOf(row.address) === network)
  }

  function wantsCaptcha(counts: Map<string, AttemptCount>, keys: ReturnType<typeof keysOf>): boolean {
    const now = clock.now().getTime()
    const recent = (key: string, rule: AttemptRule) => {
      const count = counts.get(key)
      return count && now - count.startedAt.getTime() <= rule.windowMs ? count.count : 0
    }
    return (
      recent(keys.pair, PAIR_RULE) >= CAPTCHA_AFTER.pair ||
      recent(keys.account, ACCOUNT_RULE) >= CAPTCHA_AFTER.account ||
      recent(keys.network, NETWORK_RULE) >= CAPTCHA_AFTER.network
    )
  }

  function frozen(until: Date): ApiError {
    const minutes = Math.max(1, Math.ceil((until.getTime() - clock.now().getTime()) / MINUTE_MS))
    return new ApiError('login_frozen', { values: { minutes } })
  }

  return {
    /**
     * Asks before a password is looked at.
     * @throws ApiError `login_frozen` or `too_many_requests`.
     */
    async admit(email: string, address: string): Promise<AdmittedLogin> {
      const keys = keysOf(email, address)
      const counts = await attempts.read(db, Object.values(keys))
      const pairUntil = counts.get(keys.pair)?.blockedUntil
      if (pairUntil) throw frozen(pairUntil)
      const networkUntil = counts.get(keys.network)?.blockedUntil
      const attacked = Boolean(counts.get(keys.account)?.blockedUntil)
      const captcha = wantsCaptcha(counts, keys)
      if (!networkUntil && !attacked) return { slowed: false, captcha }
      if (await isKnown(email, address)) return { slowed: false, captcha }
      if (networkUntil) {
        const seconds = Math.max(1, Math.ceil((networkUntil.getTime() - clock.now().getTime()) / 1_000))
        throw new ApiError('too_many_requests', { values: { seconds } })
      }
      return { slowed: true, captcha }
    },

    /** Whether the next password on that account from that network wants a captcha; counts what was typed. */
    async wantsCaptcha(email: string, address: string): Promise<boolean> {
      const keys = keysOf(email, address)
      return wantsCaptcha(await attempts.read(db, Object.values(keys)), keys)
    },

    /**
     * Counts a wrong password.
     * @returns What to answer: the tries that are left, or that it is frozen now.
     */
    async refuse(
      email: string,
      address: string,
      { slowed }: Pick<AdmittedLogin, 'slowed'>,
    ): Promise<ApiError> {
      const keys = keysOf(email, address)
      const rule = slowed ? PAIR_RULE_SLOWED : PAIR_RULE
      const pair = await attempts.add(db, keys.pair, rule)
      await attempts.add(db, keys.network, NETWORK_RULE)
      await attempts.add(db, keys.account, ACCOUNT_RULE)
      if (pair.blockedUntil) return frozen(pair.blockedUntil)
      return new ApiError('login_tries_left', { values: { tries: Math.max(1, rule.max - pair.count) } })
    },

    /**
     * Confirms a right password in the transaction that signs in. Passwords are looked at in parallel, so wrong
     * ones may have used up the tries meanwhile: guesses count in the order in which they end.
     * @throws ApiError `login_frozen`.
     */
    async accept(tx: Transaction, email: string, address: string): Promise<void> {
      const { pair } = keysOf(email, address)
      const count = await attempts.lock(tx, pair)
      if (!count) return
      if (count.blockedUntil) throw frozen(count.blockedUntil)
      await attempts.forget(tx, pair)
    },

    /**
     * Forgets what was counted on an account by all networks, and by the one of its owner, who has just shown to
     * be that. What other networks used up stays used up.
     */
    async reset(tx: Transaction, email: string, address: string): Promise<void> {
      const { pair, account } = keysOf(email, address)
      await attempts.forget(tx, pair)
      await attempts.forget(tx, account)
    },
  }
}
export type LoginThrottle = ReturnType<typeof createLoginThrottle>
