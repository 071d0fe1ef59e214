import { BUDGET_PERIODS, type BudgetPeriod } from '@berth/contract/budgets'
import type { Currency } from '@berth/contract/limits'
import { formatMicro, microFromCents } from '@berth/contract/money'
import { and, eq, gte, inArray, sql } from 'drizzle-orm'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { statement } from '../../platform/database/statement.ts'
import { together } from '../../platform/database/together.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import type { Budgets } from '../budgets/budgets.ts'
import { apiKey, apiKeyDay } from './tables.ts'

const dayOf = (at: Date): string => at.toISOString().slice(0, 10)

/** A key, and the period that its budget is for. */
interface KeyPeriod {
  id: string
  period: BudgetPeriod
  since: Date
}

/** What the calls of a key have cost, and what is set aside for those of them that run. */
interface KeySum {
  spentMicro: bigint
  heldMicro: bigint
}

/** Sums up the calls of keys in the period of each, by their ids; of those without calls there is nothing. */
async function sumByKey(
  q: Pick<Queryable, 'select'>,
  keys: readonly KeyPeriod[],
): Promise<Map<string, KeySum>> {
  const sums = BUDGET_PERIODS.map(async (period): Promise<[string, KeySum][]> => {
    const some = keys.filter(key => key.period === period)
    const [one] = some
    if (!one) return []
    const ids = some.map(({ id }) => id)
    const rows = await q
      .select({
        keyId: apiKeyDay.keyId,
        spentMicro: sql<bigint>`sum(${apiKeyDay.spentMicro})`.mapWith(BigInt),
        heldMicro: sql<bigint>`sum(${apiKeyDay.heldMicro})`.mapWith(BigInt),
      })
      .from(apiKeyDay)
      .where(and(inArray(apiKeyDay.keyId, ids), gte(apiKeyDay.day, dayOf(one.since))))
      .groupBy(apiKeyDay.keyId)
    return rows.map(({ keyId, ...sum }) => [keyId, sum])
  })
  return new Map((await together(sums)).flat())
}

/** What the calls of keys have cost in the period of each, by their ids; of others nothing. */
export async function spentByKey(
  q: Pick<Queryable, 'select'>,
  keys: readonly KeyPeriod[],
): Promise<Map<string, bigint>> {
  return new Map([...(await sumByKey(q, keys))].map(([id, { spentMicro }]) => [id, spentMicro]))
}

/** A call that a key is to make. */
interface KeyCall {
  keyId: string
  modelId: string
  /** What it may cost at the most. */
  mostMicro: bigint
}

/** What a key's budget lets it spend, where that stops (B16). */
interface KeyRoom {
  limitMicro: bigint
  leftMicro: bigint
  until: Date
}

/** A key, what was counted of it since its row was read, and what it has left; null where nothing limits it. */
interface Limited {
  row: typeof apiKey.$inferSelect
  takenMicro: bigint
  room: KeyRoom | null
}

/** What keys may still spend, for calls that begin together: each may what those before it have left. */
export interface KeyLimits {
  /** @throws ApiError `api_key_invalid` where the key is none any more, `api_key_model`, `api_key_spent`. */
  check(call: KeyCall, currency: Currency): void
  /** Counts what a call may cost at the most against its key's budget; nothing is written yet. */
  take(call: KeyCall): void
  /** Writes down what was counted. */
  write(): Promise<void>
}

/** What keys have left of the budgets that stop them, by their ids; those that nothing limits are left out. */
async function readRooms(
  tx: Transaction,
  budgets: Pick<Budgets, 'keys'>,
  keyIds: string[],
): Promise<Map<string, KeyRoom>> {
  const stopping = [...(await budgets.keys.of(tx, keyIds))].filter(([, { stops }]) => stops)
  const sums = await sumByKey(
    tx,
    stopping.map(([id, budget]) => ({ id, ...budget })),
  )
  return new Map(
    stopping.map(([id, { amountCents, until }]) => {
      const { spentMicro, heldMicro } = sums.get(id) ?? { spentMicro: 0n, heldMicro: 0n }
      const limitMicro = microFromCents(amountCents)
      return [id, { limitMicro, leftMicro: limitMicro - spentMicro - heldMicro, until }]
    }),
  )
}

/** A key has no room for a call. */
function spentError(
  { limitMicro, leftMicro, until }: KeyRoom,
  { at, currency }: { at: Date; currency: Currency },
): ApiError {
  return new ApiError('api_key_spent', {
    values: {
      limit: formatMicro(limitMicro, currency),
      left: formatMicro(leftMicro > 0n ? leftMicro : 0n, currency, 6),
      until: until.toISOString().slice(0, 16).replace('T', ' '),
      seconds: Math.ceil((until.getTime() - at.getTime()) / 1_000),
    },
  })
}

/**
 * Reads how keys are limited. The caller holds the wallet's lock, under which all calls of the keys are counted, whichever
 * gateway they came to, and under which their budgets are changed.
 */
export async function openKeyLimits(
  tx: Transaction,
  budgets: Pick<Budgets, 'keys'>,
  { userId, keyIds, at }: { userId: string; keyIds: string[]; at: Date },
): Promise<KeyLimits> {
  const keys = new Map<string, Limited>()
  if (keyIds.length > 0) {
    const [rows, rooms] = await together([
      tx
        .select()
        .from(apiKey)
        .where(and(inArray(apiKey.id, keyIds), eq(apiKey.userId, userId))),
      readRooms(tx, budgets, keyIds),
    ])
    for (const row of rows) keys.set(row.id, { row, takenMicro: 0n, room: rooms.get(row.id) ?? null })
  }

  return {
    check({ keyId, modelId, mostMicro }, currency) {
      const key = keys.get(keyId)
      if (!key || key.row.revokedAt) throw new ApiError('api_key_invalid')
      if (key.row.models && !key.row.models.includes(modelId)) {
        throw new ApiError('api_key_model', { values: { model: modelId } })
      }
      const { room } = key
      if (room === null || mostMicro === 0n || room.leftMicro >= mostMicro) return
      throw spentError(room, { at, currency })
    },
    take({ keyId, mostMicro }) {
      const key = keys.get(keyId)
      if (!key) return
      key.takenMicro += mostMicro
      if (key.room) key.room.leftMicro -= mostMicro
    },
    async write() {
      const taken = [...keys].filter(([, { takenMicro }]) => takenMicro > 0n)
      if (taken.length === 0) return
      await tx
        .insert(apiKeyDay)
        .values(taken.map(([keyId, { takenMicro }]) => ({ keyId, day: dayOf(at), heldMicro: takenMicro })))
        .onConflictDoUpdate({
          target: [apiKeyDay.keyId, apiKeyDay.day],
          set: { heldMicro: sql`${apiKeyDay.heldMicro} + excluded.held_micro` },
        })
    },
  }
}

/** A call of a key that has ended. */
interface KeyCallEnded {
  /** Null of a call by a session: nothing is counted. */
  keyId: string | null
  startedAt: Date
  mostMicro: bigint
  costMicro: bigint
}

/**
 * Counts what calls of keys have cost in place of what they might have, each on the day on which it began. The caller holds
 * the wallet's lock, and ends each call once.
 */
export async function settleOfKeys(tx: Transaction, ended: readonly KeyCallEnded[]): Promise<void> {
  const sums = new Map<string, { key: string; day: string; held: bigint; spent: bigint }>()
  for (const { keyId, startedAt, mostMicro, costMicro } of ended) {
    if (keyId === null || mostMicro === 0n) continue
    const day = dayOf(startedAt)
    const sum = sums.get(`${keyId} ${day}`) ?? { key: keyId, day, held: 0n, spent: 0n }
    sums.set(`${keyId} ${day}`, { ...sum, held: sum.held + mostMicro, spent: sum.spent + costMicro })
  }
  if (sums.size === 0) return
  const rows = [...sums.values()].map(sum => ({ ...sum, held: `${sum.held}`, spent: `${sum.spent}` }))
  await tx.execute(sql`
    update api_key_day d set held_micro = d.held_micro - ended.held, spent_micro = d.spent_micro + ended.spent
    from json_to_recordset(${JSON.stringify(rows)}::json) as ended(key uuid, day date, held bigint, spent bigint)
    where d.key_id = ended.key and d.day = ended.day`)
}

/**
 * Counts what calls of keys have cost for which nothing was set aside by their key, each on the day on which it began. The
 * caller holds the wallet's lock, and ends each call once. Of a key that is gone nothing is counted.
 */
export async function spendOfKeys(
  tx: Transaction,
  ended: readonly Pick<KeyCallEnded, 'keyId' | 'startedAt' | 'costMicro'>[],
): Promise<void> {
  const sums = new Map<string, { key: string; day: string; spent: bigint }>()
  for (const { keyId, startedAt, costMicro } of ended) {
    if (keyId === null || costMicro === 0n) continue
    const day = dayOf(startedAt)
    const spent = (sums.get(`${keyId} ${day}`)?.spent ?? 0n) + costMicro
    sums.set(`${keyId} ${day}`, { key: keyId, day, spent })
  }
  if (sums.size === 0) return
  const rows = [...sums.values()].map(sum => ({ ...sum, spent: `${sum.spent}` }))
  await addSpent(tx, JSON.stringify(rows))
}

const addSpent = statement(
  'api_keys_spent',
  `insert into api_key_day (key_id, day, spent_micro)
  select e.key, e.day, e.spent from json_to_recordset($1::json) as e(key uuid, day date, spent bigint)
  where exists (select 1 from api_key k where k.id = e.key)
  on conflict (key_id, day) do update set spent_micro = api_key_day.spent_micro + excluded.spent_micro`,
)
