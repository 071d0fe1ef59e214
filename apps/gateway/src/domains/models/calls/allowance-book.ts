import { and, eq, inArray, sql } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import { statement } from '../../../platform/database/statement.ts'
import { together } from '../../../platform/database/together.ts'
import type { Ids } from '../../../platform/ids.ts'
import type { Billing, Meter, Subject } from '../../billing/billing.ts'
import type { Budgets } from '../../budgets/budgets.ts'
import { spendOfKeys } from '../key-limits.ts'
import { MODEL_CALLER_CHANNEL, modelAllowance, modelCall } from '../tables.ts'
import { openAccount } from './begin-calls.ts'
import type { CallEnd } from './end-calls.ts'

/** A call that an allowance pays for. */
export interface AllowedCall {
  id: string
  userId: string
  keyId: string | null
  modelId: string
  streamed: boolean
  startedAt: Date
}

/** One that is over and not written down yet. */
export interface EndedCall extends AllowedCall {
  allowanceId: string
  /** As the model is called on bills. */
  name: string
  endedAt: Date
  how: CallEnd
  meters: readonly Meter[]
  costMicro: bigint
}

/** An allowance that is asked for. */
export interface Wanted {
  amountMicro: bigint
  /** With less than this it is of no use. */
  leastMicro: bigint
}

/** An allowance that is there. */
export interface Granted {
  id: string
  amountMicro: bigint
  /** When credits end that it may be made of; null: none do. */
  endsAt: Date | null
}

/** What is written down of a customer's allowances at once. */
export interface AllowanceWork {
  ended: readonly EndedCall[]
  /** Those that run for so long that the log is to say so. */
  running: readonly AllowedCall[]
  /** Allowances that nothing needs any more once this is written down. */
  retired: readonly string[]
  wanted: Wanted | null
}

export interface AllowanceBookDeps {
  clock: Clock
  ids: Pick<Ids, 'uuid'>
  billing: Pick<Billing, 'lockWallet' | 'openModelPurse' | 'settle' | 'creditsEnd'>
  budgets: Pick<Budgets, 'stopsAccount'>
  /** This gateway. */
  owner: string
}

/** Of what a customer has, allowances of all gateways together take no more than this part. */
const PART_MAX = 4n

/** Where credits end so soon, an allowance that may be made of them is of no use. */
const ENDS_MS_LEAST = 5_000

const subjectOf = (id: string): Subject => ({ kind: 'model_call', id })

/**
 * Writes down calls of one customer that allowances pay for, each once, however often it is asked to: what they cost is paid
 * from what the allowance has set aside, as far as that is there. Then lets go allowances, and takes a new one.
 * @returns The new one; null where none was wanted, or there is too little for one.
 */
export async function writeAllowed(
  tx: Transaction,
  deps: AllowanceBookDeps,
  userId: string,
  { ended, running, retired, wanted }: AllowanceWork,
): Promise<Granted | null> {
  const { clock, billing, owner } = deps
  // The account comes before the wallet in every transaction.
  const [closed] = await together([
    wanted && openAccount(tx, userId),
    billing.lockWallet(tx, userId),
    running.length > 0 && insertRunning(tx, running, owner),
  ])
  const fresh = ended.length > 0 ? await insertEnded(tx, ended, owner) : new Set<string>()
  const charged = ended.filter(({ id }) => fresh.has(id))
  const at = clock.now()
  const counted = charged
    .filter(({ meters }) => meters.some(({ rateMicro }) => rateMicro > 0n))
    .map(({ id, name, meters, allowanceId }) => ({
      ...{ userId, subject: subjectOf(id), name, meters: [...meters], at },
      paidFrom: subjectOf(allowanceId),
    }))
  if (counted.length > 0 || retired.length > 0) {
    const settling = { userId, subjects: [], counted, retired: retired.map(subjectOf), at }
    await together([
      billing.settle(tx, settling),
      noteUsed(tx, charged),
      spendOfKeys(tx, charged),
      retired.length > 0 && tx.delete(modelAllowance).where(inArray(modelAllowance.id, [...retired])),
    ])
  }
  return wanted && closed === null ? await takeAllowance(tx, deps, userId, wanted) : null
}

async function takeAllowance(
  tx: Transaction,
  { clock, ids, billing, budgets, owner }: AllowanceBookDeps,
  userId: string,
  { amountMicro, leastMicro }: Wanted,
): Promise<Granted | null> {
  const [purse, stops, [others], endsAt] = await together([
    billing.openModelPurse(tx, userId),
    // How much of it is left is known exactly only where each call is looked at.
    budgets.stopsAccount(tx, userId),
    tx
      .select({
        micro: sql`coalesce(sum(${modelAllowance.amountMicro} - ${modelAllowance.usedMicro}), 0)`.mapWith(
          BigInt,
        ),
      })
      .from(modelAllowance)
      .where(eq(modelAllowance.userId, userId)),
    billing.creditsEnd(tx, userId),
  ])
  const othersMicro = others?.micro ?? 0n
  const mostMicro = (purse.roomMicro() + othersMicro) / PART_MAX - othersMicro
  const takenMicro = amountMicro < mostMicro ? amountMicro : mostMicro
  const endsSoon = endsAt !== null && endsAt.getTime() - clock.now().getTime() < ENDS_MS_LEAST
  if (stops || endsSoon || takenMicro < leastMicro) return null
  const id = ids.uuid()
  purse.take(id, takenMicro)
  const row = { id, userId, gatewayId: owner, takenAt: clock.now(), amountMicro: takenMicro }
  await together([purse.write(), tx.insert(modelAllowance).values(row)])
  return { id, amountMicro: takenMicro, endsAt }
}

async function insertRunning(
  tx: Transaction,
  running: readonly AllowedCall[],
  gatewayId: string,
): Promise<void> {
  const rows = running.map(({ id, userId, keyId, modelId, streamed, startedAt }) => ({
    ...{ id, userId, keyId, modelId, streamed, startedAt, gatewayId, status: 'running' as const },
  }))
  await tx.insert(modelCall).values(rows).onConflictDoNothing()
}

/** @returns The ids of those that were not written down as ended before. */
async function insertEnded(
  tx: Transaction,
  ended: readonly EndedCall[],
  gatewayId: string,
): Promise<Set<string>> {
  const rows = ended.map(call => ({
    ...{ id: call.id, user: call.userId, key: call.keyId, model: call.modelId, streamed: call.streamed },
    ...{ started: call.startedAt.toISOString(), ended: call.endedAt.toISOString() },
    ...{ status: call.how.status, first: call.how.firstByteMs, cost: `${call.costMicro}` },
    estimated: call.how.estimated ?? false,
    error: call.how.status === 'failed' ? (call.how.errorCode ?? 'not_answered') : null,
    ...{ input: call.how.used.inputTokens, cached: call.how.used.cachedTokens },
    ...{ output: call.how.used.outputTokens, images: call.how.used.images },
    seconds: call.how.used.videoSeconds,
  }))
  // One that was given up as lost was answered after all, and what it cost is known.
  const written = await insertCalls(tx, JSON.stringify(rows), gatewayId)
  return new Set(written.map(({ id }) => id))
}

const insertCalls = statement<{ id: string }>(
  'model_calls_ended',
  `insert into model_call as c (id, user_id, key_id, model_id, streamed, started_at, ended_at, status, first_byte_ms, cost_micro,
      estimated, error_code, input_tokens, cached_tokens, output_tokens, images, video_seconds, gateway_id)
    select e.id, e."user", e.key, e.model, e.streamed, e.started, e.ended, e.status, e.first, e.cost, e.estimated, e.error,
      e.input, e.cached, e.output, e.images, e.seconds, $2::uuid
    from json_to_recordset($1::json) as e(id uuid, "user" uuid, key uuid, model text, streamed boolean,
      started timestamptz, ended timestamptz, status text, first int, cost bigint, estimated boolean, error text, input int,
      cached int, output int, images int, seconds int)
    on conflict (id) do update set ended_at = excluded.ended_at, status = excluded.status,
      first_byte_ms = excluded.first_byte_ms, cost_micro = excluded.cost_micro, estimated = excluded.estimated,
      error_code = excluded.error_code, input_tokens = excluded.input_tokens, cached_tokens = excluded.cached_tokens,
      output_tokens = excluded.output_tokens, images = excluded.images, video_seconds = excluded.video_seconds
    where c.status in ('running', 'lost')
    returning id`,
)

/** Notes what calls have cost of their allowances. */
async function noteUsed(tx: Transaction, charged: readonly EndedCall[]): Promise<void> {
  const sums = new Map<string, bigint>()
  for (const { allowanceId, costMicro } of charged)
    sums.set(allowanceId, (sums.get(allowanceId) ?? 0n) + costMicro)
  const rows = [...sums].map(([id, micro]) => ({ id, micro: `${micro}` }))
  if (rows.length === 0) return
  await addUsed(tx, JSON.stringify(rows))
}

const addUsed = statement(
  'model_allowances_used',
  `update model_allowance a set used_micro = least(a.amount_micro, a.used_micro + u.micro)
  from json_to_recordset($1::json) as u(id uuid, micro bigint)
  where a.id = u.id`,
)

/**
 * Lets go an allowance whose gateway has ended, and tells it so: it may have slept, and go on. The caller holds the wallet's
 * lock.
 */
export async function dropAllowance(
  tx: Transaction,
  { billing }: { billing: Pick<Billing, 'releaseHold'> },
  { userId, id }: { userId: string; id: string },
): Promise<void> {
  await billing.releaseHold(tx, { userId, subject: subjectOf(id) })
  await tx.delete(modelAllowance).where(and(eq(modelAllowance.id, id), eq(modelAllowance.userId, userId)))
  await tx.execute(sql`select pg_notify(${MODEL_CALLER_CHANNEL}, ${userId})`)
}
