import type { CALL_ERRORS } from '@berth/contract/session-log'
import { and, eq, inArray, sql } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import { together } from '../../../platform/database/together.ts'
import type { Billing, Subject } from '../../billing/billing.ts'
import { settleOfKeys } from '../key-limits.ts'
import { modelCall } from '../tables.ts'
import { metersOf, type Used } from './used.ts'

/** How a call ended. */
export interface CallEnd {
  status: 'done' | 'left' | 'failed'
  used: Used
  firstByteMs: number | null
  /** Whether what it used is an estimate; left out: its server said it, or it used nothing. */
  estimated?: boolean
  /** Of a failed call; left out: no server answered it. */
  errorCode?: (typeof CALL_ERRORS)[number]
}

/** A call that ends. */
export interface End {
  callId: string
  /** As it is charged: also one that the catalogue has no more, of which nothing is. */
  model: Parameters<typeof metersOf>[0]
  how: CallEnd
}

interface Deps {
  clock: Clock
  billing: Pick<Billing, 'lockWallet' | 'releaseHold' | 'settle'>
}

const subjectOf = (callId: string): Subject => ({ kind: 'model_call', id: callId })

/**
 * Ends calls of one customer: lets go what was set aside for them, and charges what they have used. Those that have ended
 * already are left out.
 * @returns What each cost, by its id, in micro-units.
 */
export async function endCalls(
  tx: Transaction,
  { clock, billing }: Deps,
  userId: string,
  ends: readonly End[],
): Promise<Map<string, bigint>> {
  const callIds = ends.map(({ callId }) => callId)
  const [, rows] = await together([
    billing.lockWallet(tx, userId),
    tx
      .select()
      .from(modelCall)
      .where(and(inArray(modelCall.id, callIds), eq(modelCall.status, 'running'))),
  ])
  const running = new Map(rows.map(row => [row.id, row]))
  const at = clock.now()
  const ending = ends.flatMap(end => {
    const row = running.get(end.callId)
    // Of two ends of one call the first holds.
    if (!row || !running.delete(end.callId)) return []
    const meters = metersOf(end.model, end.how.used)
    const isFree = row.free || meters.every(({ rateMicro }) => rateMicro === 0n)
    return [
      {
        ...end,
        row,
        counted: isFree ? null : { userId, subject: subjectOf(row.id), name: end.model.name, meters, at },
      },
    ]
  })
  if (ending.length === 0) return new Map()
  const counted = ending.flatMap(end => end.counted ?? [])
  const subjects = ending.map(({ callId }) => subjectOf(callId))
  const prices = await billing.settle(tx, { userId, subjects, counted, at })
  const costs = new Map(counted.map(({ subject }, nth) => [subject.id, prices[nth] ?? 0n]))
  const ended = ending.map(end => ({ ...end, costMicro: costs.get(end.callId) ?? 0n }))
  await together([
    writeEnds(tx, ended, at),
    settleOfKeys(
      tx,
      ended.map(({ row, costMicro }) => ({ ...row, costMicro })),
    ),
  ])
  return new Map(ended.map(({ callId, costMicro }) => [callId, costMicro]))
}

async function writeEnds(
  tx: Transaction,
  ended: readonly (End & { costMicro: bigint })[],
  at: Date,
): Promise<void> {
  const rows = ended.map(({ callId, how, costMicro }) => ({
    ...{ id: callId, status: how.status, at: at.toISOString(), first: how.firstByteMs, cost: `${costMicro}` },
    estimated: how.estimated ?? false,
    error: how.status === 'failed' ? (how.errorCode ?? 'not_answered') : null,
    ...{ input: how.used.inputTokens, cached: how.used.cachedTokens, output: how.used.outputTokens },
    ...{ images: how.used.images, seconds: how.used.videoSeconds },
  }))
  await tx.execute(sql`
    update model_call c set status = e.status, ended_at = e.at, first_byte_ms = e.first, cost_micro = e.cost,
      estimated = e.estimated, error_code = e.error, input_tokens = e.input, cached_tokens = e.cached, output_tokens = e.output,
      images = e.images, video_seconds = e.seconds
    from json_to_recordset(${JSON.stringify(rows)}::json) as e(id uuid, status text, at timestamptz, first int,
      cost bigint, estimated boolean, error text, input int, cached int, output int, images int, seconds int)
    where c.id = e.id`)
}

/** Lets go what was set aside for a call whose gateway has ended. The caller holds the wallet's lock. */
export async function letGo(
  tx: Transaction,
  { clock, billing }: Deps,
  { userId, callId }: { userId: string; callId: string },
): Promise<void> {
  await billing.releaseHold(tx, { userId, subject: subjectOf(callId) })
  const [ended] = await tx
    .update(modelCall)
    .set({ status: 'lost', endedAt: clock.now() })
    .where(and(eq(modelCall.id, callId), eq(modelCall.status, 'running')))
    .returning()
  if (ended) await settleOfKeys(tx, [{ ...ended, costMicro: 0n }])
}
