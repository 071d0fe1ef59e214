import { type OpenSession, openSession } from '@berth/contract/account'
import { COOKIE_MAX_AGE_S } from '@berth/contract/limits'
import { and, desc, eq, gt, inArray, isNull, lt, ne, or } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { Clock } from '../../../platform/clock.ts'
import type { Database, Queryable, Transaction } from '../../../platform/database/database.ts'
import { notify, type OpenDatabase } from '../../../platform/database/open-database.ts'
import type { Events } from '../../../platform/events/events.ts'
import { sha256Hex } from '../../../platform/hash.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Caller } from '../../../platform/http/handler.ts'
import { wireOf } from '../../../platform/http/wire.ts'
import type { Ids } from '../../../platform/ids.ts'
import { forCustomer, isOpen as isCustomerOpen, suspensionOf } from '../../customers/customers.ts'
import { findByIdShared } from '../accounts/accounts-store.ts'
import { sessionPushedOut, signedInAnew } from '../events.ts'
import { session, userAccount } from '../tables.ts'
import type { AccessTokens, TokenSubject } from './access-token.ts'
import { browserOf } from './browser.ts'
import { noteDevice } from './devices.ts'
import { placeOf } from './new-places.ts'
import { createSessionCache } from './session-cache.ts'

/** A session that is used lasts as long as the console's cookies (R3.1), or a day where the customer did not want to stay. */
export const SESSION_MS = COOKIE_MAX_AGE_S * 1_000
const DAY_MS = 24 * 3_600_000
const SESSION_SHORT_MS = DAY_MS
/** When a session was last used is written down no more often than this. */
export const LAST_SEEN_STEP_MS = 60_000
/** Live sessions of one customer; the oldest end first. */
export const SESSIONS_PER_USER_MAX = 100
/** Ended sessions are kept this long: they tell which networks a customer signs in from. */
const ENDED_KEPT_MS = 30 * DAY_MS
/** Replicas tell each other here what to forget; the payload is the id of a session or of a user. */
const CHANNEL = 'session'

const openSessionOf = wireOf(openSession)

interface SessionsDeps {
  db: Database
  listen: OpenDatabase['listen']
  clock: Clock
  ids: Ids
  log: Pick<Logger, 'warn'>
  tokens: AccessTokens
  /** A session that nobody uses for so long is over. */
  sessionIdleDays: number
  events: Pick<Events, 'emit'>
}

interface NewSession {
  userId: string
  /** False ends it after a day. */
  stay: boolean
  address: string
  userAgent: string
  /** The mark that the browser keeps of itself. */
  device?: string | null
}

/** Sessions: rows that can be ended, and the tokens that stand for them. */
export function createSessions(deps: SessionsDeps) {
  const { db, listen, clock, ids, log, tokens, events } = deps
  const cache = createSessionCache({ clock })
  const asking = new Map<string, Promise<Caller | null>>()

  /** Whoever was last here before then is asked to sign in again, however long the session was to last. */
  const idleSince = () => new Date(clock.now().getTime() - deps.sessionIdleDays * DAY_MS)

  async function ask(token: string, tokenHash: string): Promise<Caller | null> {
    const since = cache.generation()
    const known = cache.find(tokenHash) ?? (await tokens.verify(token))
    if (!known) return null
    const [row] = await db
      .select({
        expiresAt: session.expiresAt,
        revokedAt: session.revokedAt,
        lastSeenAt: session.lastSeenAt,
        provenAt: session.provenAt,
        emailVerifiedAt: userAccount.emailVerifiedAt,
        passwordExpired: userAccount.needUpdatePassword,
      })
      .from(session)
      .innerJoin(userAccount, eq(userAccount.id, session.userId))
      // One that was opened in the moment of a suspension is no good either.
      .where(
        and(
          eq(session.id, known.sessionId),
          eq(session.userId, known.userId),
          isCustomerOpen(session.userId),
        ),
      )
    if (!row) return null
    const { sessionId, userId } = known
    const isOpen = row.revokedAt === null && row.expiresAt > clock.now() && row.lastSeenAt > idleSince()
    const caller: Caller | null = isOpen
      ? {
          userId,
          sessionId,
          emailVerified: row.emailVerifiedAt !== null,
          provenAt: row.provenAt,
          ...(row.passwordExpired && { passwordExpired: true }),
        }
      : null
    cache.keep(tokenHash, { sessionId, userId, caller }, row.expiresAt, since)
    if (isOpen) await markSeen(sessionId, row.lastSeenAt)
    return caller
  }

  async function markSeen(sessionId: string, lastSeenAt: Date): Promise<void> {
    const now = clock.now()
    const step = new Date(now.getTime() - LAST_SEEN_STEP_MS)
    if (lastSeenAt > step) return
    try {
      // The condition holds back the other replicas that saw the same old time.
      await db
        .update(session)
        .set({ lastSeenAt: now })
        .where(and(eq(session.id, sessionId), lt(session.lastSeenAt, step)))
    } catch (error) {
      log.warn({ err: error }, 'when a session was last used could not be written down')
    }
  }

  /** What every way of signing in has in common: not into a deleted account, and its owner hears of a new place. */
  async function welcome(
    tx: Transaction,
    { userId, address, userAgent, at }: { userId: string; address: string; userAgent: string; at: Date },
  ): Promise<void> {
    const account = await findByIdShared(tx, userId)
    if (!account || account.deletedAt) throw new ApiError('login_failed')
    // Said only to who has shown that the account is theirs.
    if ((await suspensionOf(tx, userId)) !== null) throw new ApiError('account_suspended')
    const place = await placeOf(tx, userId, { address, userAgent })
    // An old account without a session has had some that are forgotten by now: that is not its first one.
    const isFirst = place === 'first' && at.getTime() - account.createdAt.getTime() < ENDED_KEPT_MS
    if (place === 'known' || isFirst) return
    await events.emit(tx, signedInAnew, { userId, at: at.toISOString(), address, ...browserOf(userAgent) })
  }

  function isLive() {
    return and(
      isNull(session.revokedAt),
      gt(session.expiresAt, clock.now()),
      gt(session.lastSeenAt, idleSince()),
    )
  }

  function isOpenOf(userId: string) {
    return and(eq(session.userId, userId), isLive())
  }

  /**
   * Ends a customer's sessions; call `forget` after the commit.
   * @param except The session that stays, or null for none.
   * @returns How many ended.
   */
  async function endAll(tx: Transaction, userId: string, except: string | null): Promise<number> {
    const ended = await tx
      .update(session)
      .set({ revokedAt: clock.now() })
      .where(and(isOpenOf(userId), except === null ? undefined : ne(session.id, except)))
      .returning({ id: session.id })
    await notify(tx, CHANNEL, userId)
    return ended.length
  }

  return {
    /** Begins to hear what other replicas say. */
    async start(): Promise<() => void> {
      tokens.onKeysChange(cache.dropAll)
      return await listen(CHANNEL, cache.drop, cache.dropAll)
    },

    /**
     * Says who a token belongs to, most often from memory.
     * @returns Null when it is not ours, is over, or its session was ended.
     */
    async authenticate(token: string): Promise<Caller | null> {
      const tokenHash = sha256Hex(token)
      const entry = cache.find(tokenHash)
      if (entry && cache.isGood(entry)) return entry.caller
      // Calls that come together ask once; but one that comes after a change does not share an older answer.
      const key = `${tokenHash} ${cache.generation()}`
      let answer = asking.get(key)
      if (!answer) {
        answer = ask(token, tokenHash).finally(() => asking.delete(key))
        asking.set(key, answer)
      }
      return await answer
    },

    /**
     * Opens a session; sign its token after the transaction.
     * @throws ApiError `login_failed` for an account that was deleted meanwhile.
     */
    async open(
      tx: Transaction,
      { userId, stay, address, userAgent, device = null }: NewSession,
    ): Promise<TokenSubject> {
      const createdAt = clock.now()
      await welcome(tx, { userId, address, userAgent, at: createdAt })
      await noteDevice(tx, { userId, mark: device, at: createdAt })
      const expiresAt = new Date(createdAt.getTime() + (stay ? SESSION_MS : SESSION_SHORT_MS))
      const id = ids.uuid()
      await tx.insert(session).values({
        id,
        userId,
        createdAt,
        expiresAt,
        lastSeenAt: createdAt,
        provenAt: createdAt,
        address,
        userAgent,
      })
      for (const sessionId of await endOldest(tx, userId, createdAt)) {
        await events.emit(tx, sessionPushedOut, { userId, sessionId })
      }
      return { sessionId: id, userId, createdAt, expiresAt }
    },

    /** A session's own row, as its token says it. */
    async subject(sessionId: string): Promise<TokenSubject | null> {
      const [row] = await db
        .select({ userId: session.userId, createdAt: session.createdAt, expiresAt: session.expiresAt })
        .from(session)
        .where(eq(session.id, sessionId))
      return row ? { sessionId, ...row } : null
    },

    /** Ends a session: its token is worthless from now on, here and, a moment later, on every replica. */
    async end(sessionId: string): Promise<void> {
      await db.transaction(async tx => {
        await tx
          .update(session)
          .set({ revokedAt: clock.now() })
          .where(and(eq(session.id, sessionId), isNull(session.revokedAt)))
        await notify(tx, CHANNEL, sessionId)
      })
      cache.drop(sessionId)
    },

    /** A customer's open sessions, the one used last first. */
    async list({ userId, sessionId }: Pick<Caller, 'userId' | 'sessionId'>): Promise<OpenSession[]> {
      const rows = await db
        .select()
        .from(session)
        .where(isOpenOf(userId))
        .orderBy(desc(session.lastSeenAt), desc(session.id))
      return rows.map(row =>
        openSessionOf({
          ...row,
          createdTime: row.createdAt,
          lastSeenTime: row.lastSeenAt,
          expiresTime: row.expiresAt,
          current: row.id === sessionId,
        }),
      )
    },

    /**
     * Ends an open session of a customer.
     * @returns False when there is none by that id, or it is somebody else's.
     */
    async endOwn(userId: string, sessionId: string): Promise<boolean> {
      const ended = await db.transaction(async tx => {
        await forCustomer(tx, userId)
        const rows = await tx
          .update(session)
          .set({ revokedAt: clock.now() })
          .where(and(isOpenOf(userId), eq(session.id, sessionId)))
          .returning({ id: session.id })
        if (rows.length > 0) await notify(tx, CHANNEL, sessionId)
        return rows.length > 0
      })
      if (ended) cache.drop(sessionId)
      return ended
    },

    /** Ends a customer's sessions but one. @returns How many ended. */
    async endOthers({ userId, sessionId }: Pick<Caller, 'userId' | 'sessionId'>): Promise<number> {
      const ended = await db.transaction(async tx => {
        await forCustomer(tx, userId)
        return await endAll(tx, userId, sessionId)
      })
      cache.drop(userId)
      return ended
    },

    endAll,

    /** Whether a session is neither over nor ended, nor idle for too long. */
    async isOpen(sessionId: string): Promise<boolean> {
      const rows = await db
        .select({ id: session.id })
        .from(session)
        .where(and(eq(session.id, sessionId), isLive()))
      return rows.length > 0
    },

    /** Those of these sessions that are neither over nor ended, nor idle for too long. */
    async openAmong(sessionIds: string[]): Promise<ReadonlySet<string>> {
      const rows = await db
        .select({ id: session.id })
        .from(session)
        .where(and(inArray(session.id, sessionIds), isLive()))
      return new Set(rows.map(({ id }) => id))
    },

    /**
     * Calls back when sessions may have ended, here or on another replica.
     * @param onChange Is given the id of the session, or of the user whose sessions these are; null: any may have ended.
     * @returns The way to stop.
     */
    watch: (onChange: (id: string | null) => void): Promise<() => void> =>
      listen(CHANNEL, onChange, () => onChange(null)),

    /** Tells the other replicas, once `q` has committed, that something about a user is new. */
    announce: (q: Queryable, userId: string): Promise<void> => notify(q, CHANNEL, userId),

    /** Forgets what this replica remembers of a user; call it after the commit. */
    forget: (userId: string): void => cache.drop(userId),

    async purge(): Promise<void> {
      const before = new Date(clock.now().getTime() - ENDED_KEPT_MS)
      const idleBefore = new Date(idleSince().getTime() - ENDED_KEPT_MS)
      await db
        .delete(session)
        .where(
          or(
            lt(session.expiresAt, before),
            lt(session.revokedAt, before),
            lt(session.lastSeenAt, idleBefore),
          ),
        )
    },
  }
}
export type Sessions = ReturnType<typeof createSessions>

/** Ends the oldest sessions of too many. @returns Their ids. */
async function endOldest(tx: Transaction, userId: string, now: Date): Promise<string[]> {
  const oldest = await tx
    .select({ id: session.id })
    .from(session)
    .where(and(eq(session.userId, userId), isNull(session.revokedAt)))
    .orderBy(desc(session.createdAt), desc(session.id))
    .offset(SESSIONS_PER_USER_MAX)
  if (oldest.length === 0) return []
  const ids = oldest.map(({ id }) => id)
  await tx.update(session).set({ revokedAt: now }).where(inArray(session.id, ids))
  for (const id of ids) await notify(tx, CHANNEL, id)
  return ids
}
