import { and, count, eq, gt, gte, notInArray, or } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { CatalogueModel } from '../../../platform/config/catalogue.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import { together } from '../../../platform/database/together.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Billing } from '../../billing/billing.ts'
import type { Budgets } from '../../budgets/budgets.ts'
import { forCustomer } from '../../customers/customers.ts'
import { openKeyLimits } from '../key-limits.ts'
import { type Once, requireFirst } from '../once-calls.ts'
import { modelCall } from '../tables.ts'
import { mostMicro, type UsedMost } from './used.ts'

/** A call that begins. */
export interface Begin {
  callId: string
  keyId: string | null
  once: Once | null
  model: CatalogueModel
  most: UsedMost
  streamed: boolean
}

interface Deps {
  clock: Clock
  billing: Pick<Billing, 'lockWallet' | 'openModelPurse'>
  budgets: Pick<Budgets, 'requireRoom' | 'keys'>
  /** This gateway. */
  owner: string
}

/** What was read for calls that begin together, each of which takes what those before it have left. */
interface Read {
  at: Date
  keys: Awaited<ReturnType<typeof openKeyLimits>>
  purse: Awaited<ReturnType<Deps['billing']['openModelPurse']>>
  /** Why nothing that costs something may begin; null where it may. */
  noRoom: ApiError | null
  /** Those that may begin, not written yet. */
  rows: (typeof modelCall.$inferInsert)[]
}

/**
 * Writes down calls of one customer that begin, and sets aside what each may cost at the most.
 * @param opened What {@link openAccount} came to, or comes to.
 * @returns Why some may not begin, by their ids.
 */
export async function beginCalls(
  tx: Transaction,
  deps: Deps,
  userId: string,
  begins: readonly Begin[],
  opened: ReturnType<typeof openAccount> | Awaited<ReturnType<typeof openAccount>>,
): Promise<Map<string, ApiError>> {
  const { clock, billing, budgets, owner } = deps
  const at = clock.now()
  const refused = new Map<string, ApiError>()
  const keyIds = [...new Set(begins.flatMap(({ keyId }) => keyId ?? []))]
  // Sent one after the other without waiting between; what is read comes after the locks.
  const [closed, , keys, purse, noRoom] = await together([
    opened,
    billing.lockWallet(tx, userId),
    openKeyLimits(tx, budgets, { userId, keyIds, at }),
    billing.openModelPurse(tx, userId),
    refusalOf(budgets.requireRoom(tx, { userId, instanceId: null })),
  ])
  const read: Read = { at, keys, purse, noRoom, rows: [] }
  for (const begin of begins) {
    const reason = closed ?? (await refusalOf(beginOne(tx, userId, begin, read)))
    if (reason) refused.set(begin.callId, reason)
  }
  const rows = read.rows.map(row => ({ ...row, gatewayId: owner }))
  await together([purse.write(), rows.length > 0 && tx.insert(modelCall).values(rows), keys.write()])
  return refused
}

/** Begins a transaction in which calls begin. @returns Why none may; null where they may. */
export async function openAccount(tx: Transaction, userId: string): Promise<ApiError | null> {
  return await refusalOf(forCustomer(tx, userId))
}

/** @throws ApiError Why it may not begin; then nothing was taken for it. */
async function beginOne(tx: Transaction, userId: string, begin: Begin, read: Read): Promise<void> {
  const { callId, keyId, once, model, most, streamed } = begin
  const { at, keys, purse, noRoom, rows } = read
  if (once) {
    const beside = rows.find(({ onceKey }) => onceKey === once.key)
    if (beside && beside.onceBody !== once.body) throw new ApiError('idempotency_key_reused')
    if (beside) throw new ApiError('idempotency_in_progress', { values: { seconds: 1 } })
    await requireFirst(tx, { userId, once, now: at, currency: purse.currency })
  }
  const fullMicro = mostMicro(model, most)
  const free = fullMicro > 0n && (await hasFreeCall(tx, { userId, model, read }))
  const amountMicro = free ? 0n : fullMicro
  const ofKey = keyId === null ? null : { keyId, modelId: model.id, mostMicro: amountMicro }
  if (ofKey) keys.check(ofKey, purse.currency)
  if (amountMicro > 0n) {
    if (noRoom) throw noRoom
    purse.take(callId, amountMicro)
    if (ofKey) keys.take(ofKey)
  }
  rows.push({
    id: callId,
    userId,
    keyId,
    modelId: model.id,
    streamed,
    free,
    status: 'running',
    startedAt: at,
    mostMicro: amountMicro,
    onceKey: once?.key ?? null,
    onceBody: once?.body ?? null,
  })
}

/** What a promise was refused with; null where it was not. */
async function refusalOf(promise: Promise<unknown>): Promise<ApiError | null> {
  try {
    await promise
    return null
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
}

/** Calls that end in one of these do not count among those that cost nothing, unless something of an answer had come. */
const UNANSWERED: ('failed' | 'lost')[] = ['failed', 'lost']

/** Whether a customer has one left of the calls of a model that cost nothing today. The caller holds the wallet's lock. */
async function hasFreeCall(
  tx: Transaction,
  { userId, model, read }: { userId: string; model: CatalogueModel; read: Pick<Read, 'at' | 'rows'> },
): Promise<boolean> {
  if (model.free_calls_per_day === 0) return false
  const today = new Date(read.at)
  today.setUTCHours(0, 0, 0, 0)
  const [taken] = await tx
    .select({ calls: count() })
    .from(modelCall)
    .where(
      and(
        eq(modelCall.userId, userId),
        eq(modelCall.modelId, model.id),
        gte(modelCall.startedAt, today),
        modelCall.free,
        or(notInArray(modelCall.status, UNANSWERED), gt(modelCall.outputTokens, 0), gt(modelCall.images, 0)),
      ),
    )
  const begun = read.rows.filter(row => row.free && row.modelId === model.id)
  return (taken?.calls ?? 0) + begun.length < model.free_calls_per_day
}
