import { BUDGET_PERIODS, type BudgetPeriod } from '@berth/contract/budgets'
import type { Currency } from '@berth/contract/limits'
import { formatMicro, microFromCents } from '@berth/contract/money'
import { and, eq, gte, inArray, sql } from 'drizzle-orm'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import type { Budgets } from '../budgets/budgets.ts'
import { apiKey, apiKeyDay } from './tables.ts'

const dayOf = (at: Date): string => at.toISOString().slice(0, 10)

/** What the calls of a key since a day have cost, and what is set aside for those of them that run. */
async function sumSince(
  q: Pick<Queryable, 'select'>,
  keyId: string,
  firstDay: string,
): Promise<{ spentMicro: bigint; heldMicro: bigint }> {
  const [row] = await q
    .select({
      spentMicro: sql<bigint>`coalesce(sum(${apiKeyDay.spentMicro}), 0)`.mapWith(BigInt),
      heldMicro: sql<bigint>`coalesce(sum(${apiKeyDay.heldMicro}), 0)`.mapWith(BigInt),
    })
    .from(apiKeyDay)
    .where(and(eq(apiKeyDay.keyId, keyId), gte(apiKeyDay.day, firstDay)))
  return row ?? { spentMicro: 0n, heldMicro: 0n }
}

/** What the calls of keys have cost in the period of each, by their ids; of others nothing. */
export async function spentByKey(
  q: Pick<Queryable, 'select'>,
  keys: readonly { id: string; period: BudgetPeriod; since: Date }[],
): Promise<Map<string, bigint>> {
  const spent = new Map<string, bigint>()
  for (const period of BUDGET_PERIODS) {
    const some = keys.filter(key => key.period === period)
    const [one] = some
    if (!one) continue
    const ids = some.map(({ id }) => id)
    const rows = await q
      .select({ keyId: apiKeyDay.keyId, micro: sql<bigint>`sum(${apiKeyDay.spentMicro})`.mapWith(BigInt) })
      .from(apiKeyDay)
      .where(and(inArray(apiKeyDay.keyId, ids), gte(apiKeyDay.day, dayOf(one.since))))
      .groupBy(apiKeyDay.keyId)
    for (const { keyId, micro } of rows) spent.set(keyId, micro)
  }
  return spent
}

/** A call that a key is to make. */
interface KeyCall {
  userId: string
  keyId: string
  modelId: string
  /** What it may cost at the most. */
  mostMicro: bigint
  at: Date
  currency: Currency
}

/**
 * Lets a key make a call, and counts what that may cost at the most against its budget, which it holds where that stops (B16). The caller holds the
 * wallet's lock, under which all calls of the key are counted, whichever gateway they came to.
 * @throws ApiError `api_key_invalid` where the key is none any more, `api_key_model`, `api_key_spent`.
 */
export async function takeOfKey(
  tx: Transaction,
  budgets: Pick<Budgets, 'keys'>,
  call: KeyCall,
): Promise<void> {
  const { userId, keyId, modelId, mostMicro, at, currency } = call
  const [key] = await tx
    .select()
    .from(apiKey)
    .where(and(eq(apiKey.id, keyId), eq(apiKey.userId, userId)))
  if (!key || key.revokedAt) throw new ApiError('api_key_invalid')
  if (key.models && !key.models.includes(modelId)) {
    throw new ApiError('api_key_model', { values: { model: modelId } })
  }
  if (mostMicro === 0n) return
  const budget = (await budgets.keys.of(tx, [keyId])).get(keyId)
  if (budget?.stops) {
    const { since, until } = budget
    const { spentMicro, heldMicro } = await sumSince(tx, keyId, dayOf(since))
    const limitMicro = microFromCents(budget.amountCents)
    const leftMicro = limitMicro - spentMicro - heldMicro
    if (leftMicro < mostMicro) {
      throw new ApiError('api_key_spent', {
        values: {
          limit: formatMicro(limitMicro, currency),
          left: formatMicro(leftMicro > 0n ? leftMicro : 0n, currency, 6),
          until: until.toISOString().slice(0, 16).replace('T', ' '),
          seconds: Math.ceil((until.getTime() - at.getTime()) / 1_000),
        },
      })
    }
  }
  await tx
    .insert(apiKeyDay)
    .values({ keyId, day: dayOf(at), heldMicro: mostMicro })
    .onConflictDoUpdate({
      target: [apiKeyDay.keyId, apiKeyDay.day],
      set: { heldMicro: sql`${apiKeyDay.heldMicro} + ${mostMicro}` },
    })
}

/**
 * Counts what a call of a key has cost in place of what it might have, on the day on which it began. The caller holds the
 * wallet's lock, and ends each call once.
 * @param ended.keyId Null of a call by a session: nothing is counted.
 */
export async function settleOfKey(
  tx: Transaction,
  ended: { keyId: string | null; startedAt: Date; mostMicro: bigint; costMicro: bigint },
): Promise<void> {
  const { keyId, startedAt, mostMicro, costMicro } = ended
  if (keyId === null || mostMicro === 0n) return
  await tx
    .update(apiKeyDay)
    .set({
      heldMicro: sql`${apiKeyDay.heldMicro} - ${mostMicro}`,
      spentMicro: sql`${apiKeyDay.spentMicro} + ${costMicro}`,
    })
    .where(and(eq(apiKeyDay.keyId, keyId), eq(apiKeyDay.day, dayOf(startedAt))))
}
