import {
  type ApiKey,
  apiKey as apiKeyEntity,
  type createApiKeyBody,
  type editApiKeyBody,
} from '@berth/contract/api-keys'
import { API_KEYS_PER_USER_MAX } from '@berth/contract/limits'
import { and, count, desc, eq, inArray, isNotNull, isNull, lte, or } from 'drizzle-orm'
import type * as z from 'zod'
import type { Clock } from '../../platform/clock.ts'
import type { Database, Queryable, Transaction } from '../../platform/database/database.ts'
import { lockForUser } from '../../platform/database/user-lock.ts'
import type { Events } from '../../platform/events/events.ts'
import { sha256Hex } from '../../platform/hash.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import { wireOf } from '../../platform/http/wire.ts'
import type { Ids } from '../../platform/ids.ts'
import type { Billing } from '../billing/billing.ts'
import type { Budgets } from '../budgets/budgets.ts'
import { forCustomer } from '../customers/customers.ts'
import { accountDeleted } from '../identity/events.ts'
import { apiKeyCreated } from './events.ts'
import { spentByKey } from './key-limits.ts'
import { makeKeyText, prefixOf } from './key-text.ts'
import { isUsable, type KnownKeys } from './known-keys.ts'
import { apiKey } from './tables.ts'

const DAY_MS = 24 * 3_600_000
/** Keys of one customer that are over or revoked and still listed; the oldest go first. */
export const ENDED_KEPT_MAX = 50

const keyOf = wireOf(apiKeyEntity)
const spendOf = wireOf(apiKeyEntity.shape.spend_limit.unwrap())
type KeyRow = typeof apiKey.$inferSelect

interface ApiKeysDeps {
  db: Database
  clock: Clock
  ids: Ids
  events: Pick<Events, 'emit' | 'on'>
  billing: Pick<Billing, 'lockWallet'>
  /** What its calls may cost is a key's budget. */
  budgets: Pick<Budgets, 'keys'>
  /** Who calls with which key. */
  known: KnownKeys
  /** The models that there are. */
  catalogue: { models: readonly { id: string }[] }
}

/** What is said of a key when it is made or changed. */
type KeyLimits = Pick<z.output<typeof editApiKeyBody>, 'models' | 'requests_per_minute' | 'tokens_per_minute'>

/** Keys for the model endpoints (B10). Each is shown once; what is kept of it is a hash. */
export function createApiKeys(deps: ApiKeysDeps) {
  const { db, clock, ids, events, billing, budgets, catalogue, known } = deps

  events.on(accountDeleted, 'api-keys', async (tx, { userId }) => {
    await lockForUser(tx, 'api_key', userId)
    await tx.delete(apiKey).where(eq(apiKey.userId, userId))
  })

  const isEnded = (now: Date) => or(isNotNull(apiKey.revokedAt), lte(apiKey.expiresAt, now))

  /** Keys on the wire, each with what it has spent of its budget. */
  async function shown(rows: readonly KeyRow[]): Promise<ApiKey[]> {
    const budgetOf = await budgets.keys.of(
      db,
      rows.map(({ id }) => id),
    )
    const spent = await spentByKey(
      db,
      [...budgetOf].map(([id, budget]) => ({ id, ...budget })),
    )
    return rows.map(row => {
      const budget = budgetOf.get(row.id)
      const spentMicro = spent.get(row.id) ?? 0n
      return keyOf({
        ...row,
        spendLimit: budget ? spendOf({ ...budget, amount: budget.amountCents, spentMicro }) : null,
      })
    })
  }

  /** @param kept Models that the key may name already, which may be gone from the catalogue meanwhile. */
  function limitsOf({ models, requests_per_minute, tokens_per_minute }: KeyLimits, kept: readonly string[]) {
    const known = new Set([...catalogue.models.map(({ id }) => id), ...kept])
    if (models?.some(id => !known.has(id))) {
      throw new ApiError('validation_failed', { fields: [{ path: 'models', rule: 'not_allowed' }] })
    }
    return {
      models: models && [...new Set(models)],
      requestsPerMinute: requests_per_minute,
      tokensPerMinute: tokens_per_minute,
    }
  }

  async function requireRoom(tx: Transaction, userId: string, now: Date): Promise<void> {
    const [held] = await tx
      .select({ keys: count() })
      .from(apiKey)
      .where(and(eq(apiKey.userId, userId), isUsable(now)))
    if ((held?.keys ?? 0) < API_KEYS_PER_USER_MAX) return
    throw new ApiError('api_key_limit', { values: { limit: API_KEYS_PER_USER_MAX } })
  }

  async function dropOldestEnded(tx: Transaction, userId: string, now: Date): Promise<void> {
    const oldest = await tx
      .select({ id: apiKey.id })
      .from(apiKey)
      .where(and(eq(apiKey.userId, userId), isEnded(now)))
      .orderBy(desc(apiKey.createdAt), desc(apiKey.id))
      .offset(ENDED_KEPT_MAX)
    const dropped = oldest.map(({ id }) => id)
    if (dropped.length > 0) await tx.delete(apiKey).where(inArray(apiKey.id, dropped))
  }

  return {
    /** A customer's keys, newest first, with those that are over or revoked. */
    async list(userId: string): Promise<ApiKey[]> {
      const rows = await db
        .select()
        .from(apiKey)
        .where(eq(apiKey.userId, userId))
        .orderBy(desc(apiKey.createdAt), desc(apiKey.id))
      return await shown(rows)
    },

    /**
     * Makes a key.
     * @param given.expires_in_days Null never.
     * @returns The key with its text, which nobody can be told again.
     * @throws ApiError `api_key_limit`, `validation_failed` where it names a model that there is none of.
     */
    async create(
      userId: string,
      given: z.output<typeof createApiKeyBody>,
    ): Promise<ApiKey & { key: string }> {
      const now = clock.now()
      const days = given.expires_in_days
      const key = makeKeyText(ids)
      const row = {
        id: ids.uuid(),
        userId,
        name: given.name,
        prefix: prefixOf(key),
        hash: sha256Hex(key),
        createdAt: now,
        lastUsedAt: null,
        expiresAt: days === null ? null : new Date(now.getTime() + days * DAY_MS),
        revokedAt: null,
        ...limitsOf(given, []),
      }
      await db.transaction(async tx => {
        await forCustomer(tx, userId)
        // First of all locks, as where a call of a key is counted.
        await billing.lockWallet(tx, userId)
        await lockForUser(tx, 'api_key', userId)
        await requireRoom(tx, userId, now)
        await dropOldestEnded(tx, userId, now)
        await tx.insert(apiKey).values(row)
        await budgets.keys.set(tx, row, budgetOf(given))
        await events.emit(tx, apiKeyCreated, { userId, at: now.toISOString(), name: row.name })
      })
      const [made] = await shown([row])
      if (!made) throw new Error('a key was made and is not there')
      return { ...made, key }
    },

    /**
     * Changes what a key is called and how it is limited: its next call on any gateway is bound by that. What it has spent
     * in the period that runs counts towards a limit that is set now.
     * @throws ApiError `not_found` where the customer has none by that id that is not revoked; `validation_failed`.
     */
    async edit(userId: string, id: string, given: z.output<typeof editApiKeyBody>): Promise<ApiKey> {
      const row = await db.transaction(async tx => {
        await forCustomer(tx, userId)
        await billing.lockWallet(tx, userId)
        const isOwn = and(eq(apiKey.userId, userId), eq(apiKey.id, id), isNull(apiKey.revokedAt))
        const [held] = await tx.select().from(apiKey).where(isOwn).for('update')
        if (!held) throw new ApiError('not_found')
        const limits = limitsOf(given, held.models ?? [])
        const [changed] = await tx
          .update(apiKey)
          .set({ name: given.name, ...limits })
          .where(eq(apiKey.id, id))
          .returning()
        await budgets.keys.set(tx, held, budgetOf(given))
        return changed
      })
      known.forget(userId)
      const [edited] = await shown(row ? [row] : [])
      if (!edited) throw new ApiError('not_found')
      return edited
    },

    /**
     * Revokes a key: from now on it is good for nothing, on every replica, and its budget is over. Again changes nothing.
     * @throws ApiError `not_found` where the customer has none by that id.
     */
    async revoke(userId: string, id: string): Promise<void> {
      const isOwn = and(eq(apiKey.userId, userId), eq(apiKey.id, id))
      await db.transaction(async tx => {
        await forCustomer(tx, userId)
        await billing.lockWallet(tx, userId)
        const revoked = await tx
          .update(apiKey)
          .set({ revokedAt: clock.now() })
          .where(and(isOwn, isNull(apiKey.revokedAt)))
          .returning({ id: apiKey.id })
        if (revoked.length > 0) return await budgets.keys.set(tx, { id, userId }, null)
        const [held] = await tx.select({ id: apiKey.id }).from(apiKey).where(isOwn)
        if (!held) throw new ApiError('not_found')
      })
      known.forget(userId)
    },

    /** Those of keys that calls may be made with, by their ids. */
    async there(
      q: Pick<Queryable, 'select'>,
      keyIds: string[],
    ): Promise<Map<string, { userId: string; name: string }>> {
      if (keyIds.length === 0) return new Map()
      const rows = await q
        .select()
        .from(apiKey)
        .where(and(inArray(apiKey.id, keyIds), isUsable(clock.now())))
      return new Map(rows.map(({ id, userId, name }) => [id, { userId, name }]))
    },

    /** What the calls of keys have cost in the period of each, by their ids. */
    spent: spentByKey,

    authenticate: known.authenticate,
  }
}

/** What a form says of a key's budget; null: none. */
function budgetOf({ spend_limit: wanted }: Pick<z.output<typeof editApiKeyBody>, 'spend_limit'>) {
  return wanted && { amountCents: wanted.amount, period: wanted.period, stops: wanted.stops }
}
