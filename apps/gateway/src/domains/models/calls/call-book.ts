import { OPEN_CREATION_STATUSES } from '@berth/contract/creation-states'
import type { CALL_ERRORS } from '@berth/contract/session-log'
import { and, asc, count, eq, gt, gte, inArray, lt, ne, notExists, notInArray, or, sql } from 'drizzle-orm'
import type { Logger } from 'pino'
import { createAtOnce, createAtOnceEach } from '../../../platform/at-once.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { CatalogueModel } from '../../../platform/config/catalogue.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import { gateway } from '../../../platform/gateways/tables.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Ids } from '../../../platform/ids.ts'
import type { Billing, Subject } from '../../billing/billing.ts'
import type { Budgets } from '../../budgets/budgets.ts'
import { forCustomer } from '../../customers/customers.ts'
import { creationItem } from '../creations/tables.ts'
import { settleOfKey, takeOfKey } from '../key-limits.ts'
import { type Once, requireFirst } from '../once-calls.ts'
import { modelCall } from '../tables.ts'
import { metersOf, mostMicro, type Used, type UsedMost } from './used.ts'

export interface CallBookDeps {
  db: Database
  clock: Clock
  ids: Ids
  log: Pick<Logger, 'error' | 'warn'>
  billing: Pick<Billing, 'lockWallet' | 'holdForModel' | 'releaseHold' | 'chargeOnce' | 'totals'>
  budgets: Pick<Budgets, 'requireRoom' | 'keys'>
  /** This gateway. */
  owner: string
}

/** Who calls a model: by a key, or by a session. */
export interface ModelCaller {
  userId: string
  keyId: string | null
  /** What tells that the question was asked before; left out: it is asked each time. */
  once?: Once | null
  /** Told the call's id once it is written down, also where it is refused later. */
  onBegun?: (callId: string) => void
  /** Told how many tokens it is to use, about and with the longest answer, before it is written down; it may refuse. */
  onAsked?: (tokens: number) => Promise<void>
  /** Told how many it has used, once it is over. */
  onUsed?: (tokens: number) => void
}

/** A model as it is charged: also one that the catalogue has no more, of which nothing is charged. */
type PricedModel = Parameters<typeof metersOf>[0]

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

/** A call ends by itself long before that: one that still runs then has lost its gateway. */
const LOST_MS = 3_600_000
const PAGE = 200
/**
 * Gateways say every two seconds that they live (platform/gateways). One that has not for so long writes no end down any more;
 * one that ended in good order has no row, and has written its ends down before.
 */
const GONE_SECONDS = 60
const hasLostGateway = sql`not exists (
  select 1 from ${gateway} g
  where g.id = ${modelCall.gatewayId} and g.seen_until > now() - make_interval(secs => ${GONE_SECONDS})
)`

/**
 * Begins and ends that are written down at a time, of one customer and of all. Those of one wait for the wallet's lock, each
 * with a connection of the pool in hand, of which there are twenty for everybody (decision 0105). Others wait in line with
 * none, and since the desk lets no more than so many calls of a customer in, no line is long.
 */
export const OF_ONE_AT_ONCE_MAX = 3
const AT_ONCE_MAX = 10

const subjectOf = (callId: string): Subject => ({ kind: 'model_call', id: callId })

/** Calls that end in one of these do not count among those that cost nothing, unless something of an answer had come. */
const UNANSWERED: ('failed' | 'lost')[] = ['failed', 'lost']

/** Whether a customer has one left of the calls of a model that cost nothing today. The caller holds the wallet's lock. */
async function hasFreeCall(
  tx: Transaction,
  { userId, model, now }: { userId: string; model: CatalogueModel; now: Date },
): Promise<boolean> {
  if (model.free_calls_per_day === 0) return false
  const today = new Date(now)
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
  return (taken?.calls ?? 0) < model.free_calls_per_day
}

/** What calls of models cost: set aside before the model is asked, charged when it has answered. */
export function createCallBook({ db, clock, ids, log, billing, budgets, owner }: CallBookDeps) {
  const ofOne = createAtOnceEach(OF_ONE_AT_ONCE_MAX)
  const ofAll = createAtOnce(AT_ONCE_MAX)
  /** Works on the book in turn. What one has begun and ended is in one line, so that no ends are left behind by begins. */
  const inTurn = <T>(userId: string, work: (tx: Transaction) => Promise<T>): Promise<T> =>
    ofOne(userId, () => ofAll(() => db.transaction(work)))

  async function beginIn(
    tx: Transaction,
    { userId, keyId, once = null }: ModelCaller,
    model: CatalogueModel,
    call: { most: UsedMost; streamed: boolean },
  ): Promise<string> {
    const callId = ids.uuid()
    const fullMicro = mostMicro(model, call.most)
    const at = clock.now()
    await forCustomer(tx, userId)
    const { currency } = await billing.lockWallet(tx, userId)
    if (once) await requireFirst(tx, { userId, once, now: at, currency })
    const free = fullMicro > 0n && (await hasFreeCall(tx, { userId, model, now: at }))
    const amountMicro = free ? 0n : fullMicro
    if (keyId !== null) {
      const call = { userId, keyId, modelId: model.id, mostMicro: amountMicro, at, currency }
      await takeOfKey(tx, budgets, call)
    }
    if (amountMicro > 0n) {
      await budgets.requireRoom(tx, { userId, instanceId: null })
      await billing.holdForModel(tx, { userId, callId, amountMicro })
    }
    await tx.insert(modelCall).values({
      id: callId,
      userId,
      keyId,
      modelId: model.id,
      streamed: call.streamed,
      free,
      status: 'running',
      gatewayId: owner,
      startedAt: at,
      mostMicro: amountMicro,
      ...(once && { onceKey: once.key, onceBody: once.body }),
    })
    return callId
  }

  async function endIn(
    tx: Transaction,
    { userId }: Pick<ModelCaller, 'userId'>,
    model: PricedModel,
    callId: string,
    end: CallEnd,
  ): Promise<bigint> {
    const { status, used, firstByteMs, estimated = false } = end
    const errorCode = status === 'failed' ? (end.errorCode ?? 'not_answered') : null
    await billing.lockWallet(tx, userId)
    const [row] = await tx.select().from(modelCall).where(eq(modelCall.id, callId)).for('update')
    if (row?.status !== 'running') return 0n
    const subject = subjectOf(callId)
    await billing.releaseHold(tx, { userId, subject })
    const meters = metersOf(model, used)
    const at = clock.now()
    const isFree = row.free || meters.every(({ rateMicro }) => rateMicro === 0n)
    const costMicro = isFree
      ? 0n
      : await billing.chargeOnce(tx, { userId, subject, name: model.name, meters, at })
    await tx
      .update(modelCall)
      .set({ ...used, status, estimated, endedAt: at, firstByteMs, costMicro, errorCode })
      .where(eq(modelCall.id, callId))
    await settleOfKey(tx, { ...row, costMicro })
    return costMicro
  }

  /** Tells a customer, once, whose key's budget let a call begin no more. @throws The refusal, in any case. */
  async function tellRefusal({ keyId }: Pick<ModelCaller, 'keyId'>, error: unknown): Promise<never> {
    if (keyId !== null && error instanceof ApiError && error.code === 'api_key_spent') {
      await budgets.keys.tellStopped(keyId)
    }
    throw error
  }

  return {
    /** Works on the book in turn with the other begins and ends of a customer. */
    inTurn,
    /** As `begin`, in a transaction of {@link inTurn}: what is written down with a call is so together with it. */
    beginIn,
    /** For what {@link beginIn} throws, once its transaction is over. */
    tellRefusal,
    /** As `end`, in the same way. */
    endIn,

    /**
     * Writes a call down and sets aside what it may cost at the most, so that no number of calls at once spends more than
     * there is.
     * @returns Its id.
     * @throws ApiError `insufficient_balance`, `budget_reached`, `login_expired` where the account was deleted, and as
     *   {@link takeOfKey} and {@link requireFirst}.
     */
    async begin(
      caller: ModelCaller,
      model: CatalogueModel,
      call: { most: UsedMost; streamed: boolean },
    ): Promise<string> {
      const begun = inTurn(caller.userId, tx => beginIn(tx, caller, model, call))
      const callId = await begun.catch(error => tellRefusal(caller, error))
      caller.onBegun?.(callId)
      return callId
    },

    /**
     * Lets go what was set aside and charges what was used, once: of a call that has ended already nothing happens.
     * @returns What it cost, in micro-units.
     */
    end: (caller: ModelCaller, model: CatalogueModel, callId: string, end: CallEnd): Promise<bigint> =>
      inTurn(caller.userId, tx => endIn(tx, caller, model, callId, end)),

    /** Lets go what was set aside for calls whose gateway has ended before they did: nothing is charged. */
    async endLost(signal: AbortSignal): Promise<void> {
      const before = new Date(clock.now().getTime() - LOST_MS)
      // What waits for its turn, or is made for long, has somebody who ends it.
      const isWorkedOn = db
        .select({ id: creationItem.id })
        .from(creationItem)
        .where(
          and(
            eq(creationItem.callId, modelCall.id),
            inArray(creationItem.status, [...OPEN_CREATION_STATUSES]),
          ),
        )
      const isLost = and(
        eq(modelCall.status, 'running'),
        or(lt(modelCall.startedAt, before), and(ne(modelCall.gatewayId, owner), hasLostGateway)),
        notExists(isWorkedOn),
      )
      const lost = await db
        .select({ id: modelCall.id, userId: modelCall.userId })
        .from(modelCall)
        .where(isLost)
        .orderBy(asc(modelCall.startedAt))
        .limit(PAGE)
      for (const { id, userId } of lost) {
        if (signal.aborted) return
        try {
          await db.transaction(async tx => {
            await billing.lockWallet(tx, userId)
            await billing.releaseHold(tx, { userId, subject: subjectOf(id) })
            const [ended] = await tx
              .update(modelCall)
              .set({ status: 'lost', endedAt: clock.now() })
              .where(and(eq(modelCall.id, id), sql`${modelCall.status} = 'running'`))
              .returning()
            if (ended) await settleOfKey(tx, { ...ended, costMicro: 0n })
          })
        } catch (error) {
          log.error({ err: error, call: id }, 'a lost call of a model was not ended')
        }
      }
    },
  }
}
export type CallBook = ReturnType<typeof createCallBook>
