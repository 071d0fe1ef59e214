import { OPEN_CREATION_STATUSES } from '@berth/contract/creation-states'
import { and, asc, eq, inArray, lt, ne, not, notExists, or, sql } from 'drizzle-orm'
import type { AnyPgColumn } from 'drizzle-orm/pg-core'
import type { Logger } from 'pino'
import type { Clock } from '../../../platform/clock.ts'
import type { CatalogueModel } from '../../../platform/config/catalogue.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import { together } from '../../../platform/database/together.ts'
import { isDatabaseUnavailable } from '../../../platform/database/unavailable.ts'
import { gateway } from '../../../platform/gateways/tables.ts'
import { createGathered } from '../../../platform/gathered.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Ids } from '../../../platform/ids.ts'
import type { Billing } from '../../billing/billing.ts'
import type { Budgets } from '../../budgets/budgets.ts'
import { creationItem } from '../creations/tables.ts'
import type { Once } from '../once-calls.ts'
import { modelAllowance, modelCall } from '../tables.ts'
import { dropAllowance } from './allowance-book.ts'
import { createAllowances } from './allowances.ts'
import { type Begin, beginCalls, openAccount } from './begin-calls.ts'
import { createCallJournal } from './call-journal.ts'
import { type CallEnd, type End, endCalls, letGo } from './end-calls.ts'
import { mostMicro, type UsedMost } from './used.ts'

export interface CallBookDeps {
  db: Database
  clock: Clock
  ids: Ids
  log: Pick<Logger, 'error' | 'warn'>
  billing: Pick<
    Billing,
    'lockWallet' | 'openModelPurse' | 'releaseHold' | 'settle' | 'totals' | 'priceOf' | 'creditsEnd'
  >
  budgets: Pick<Budgets, 'requireRoom' | 'keys' | 'stopsAccount'>
  /** This gateway. */
  owner: string
  /** Where calls that are over are noted until they are written down; null: nowhere. */
  callsFolder: string | null
  /** Calls of a customer for which money is set aside ahead: other than usual for tests. */
  oftenCalls?: number | undefined
}

/** Who calls a model: by a key, or by a session. */
export interface ModelCaller {
  userId: string
  keyId: string | null
  /** The models that its key may name; null or left out: all of them. */
  models?: readonly string[] | null
  /** Whether its key has a budget that stops it: then each call is held against that. */
  isBudgeted?: boolean
  /** What tells that the question was asked before; left out: it is asked each time. */
  once?: Once | null
  /** Told the call's id once it is written down, also where it is refused later. */
  onBegun?: (callId: string) => void
  /** Told how many tokens it is to use, about and with the longest answer, before it is written down; it may refuse. */
  onAsked?: (tokens: number) => Promise<void>
  /** Told how many it has used, once it is over. */
  onUsed?: (tokens: number) => void
}

/** A call ends by itself long before that: one that still runs then has lost its gateway. */
const LOST_MS = 3_600_000
const PAGE = 200
/** An allowance is at work or known to its gateway long before that. */
const FORGOTTEN_MS = 300_000
/**
 * Gateways say every two seconds that they live (platform/gateways). One that has not for so long writes no end down any more;
 * one that ended in good order has no row, and has written its ends down before.
 */
const GONE_SECONDS = 60
const hasLostGateway = (id: AnyPgColumn) => sql`not exists (
  select 1 from ${gateway} g
  where g.id = ${id} and g.seen_until > now() - make_interval(secs => ${GONE_SECONDS})
)`

/**
 * Begins and ends of one customer are written down one transaction after the other, which wait for the wallet's lock with a
 * connection of the pool in hand; there are twenty of those for everybody (decision 0105). What comes meanwhile waits with
 * none, and is written down together by the next transaction, so that many calls at once cost little more than one.
 */
const TOGETHER_MAX = 100
const AT_ONCE_MAX = 10

/** A call that begins or ends. */
type Change = ({ change: 'begin' } & Begin) | ({ change: 'end' } & End)

/** What calls of models cost: set aside before the model is asked, charged when it has answered. */
export function createCallBook(deps: CallBookDeps) {
  const { db, clock, ids, log, billing, budgets, owner } = deps
  /** Customers who are being told that a key's budget stops it, by the key's id. */
  const telling = new Map<string, Promise<void>>()

  /**
   * Where calls only begin, the transaction holds for everybody once it has committed, but may reach the disk a moment later:
   * no server is asked before it has committed, and where the database's computer fails within that moment, the calls are
   * charged to nobody (decision 0142). What charges is on the disk.
   * @returns What each came to: null of one that begins, what it cost of one that ends.
   */
  async function writeDown(
    tx: Transaction,
    userId: string,
    changes: readonly Change[],
  ): Promise<PromiseSettledResult<bigint | null>[]> {
    const begins = changes.filter(({ change }) => change === 'begin') as Begin[]
    const ends = changes.filter(({ change }) => change === 'end') as End[]
    // The account comes before the wallet in every transaction.
    const opened = begins.length > 0 ? openAccount(tx, userId) : null
    if (ends.length === 0) {
      const [refused] = await together([
        beginCalls(tx, deps, userId, begins, opened),
        tx.execute(sql`set local synchronous_commit = off`),
      ])
      return changes.map(({ callId }) => resultOf(refused.get(callId), null))
    }
    const [closed, cost] = await together([opened, endCalls(tx, deps, userId, ends)])
    const refused = begins.length > 0 ? await beginCalls(tx, deps, userId, begins, closed) : null
    return changes.map(({ callId }) => resultOf(refused?.get(callId), cost.get(callId) ?? null))
  }

  const turns = createGathered<Change, bigint | null>({
    togetherMax: TOGETHER_MAX,
    atOnceMax: AT_ONCE_MAX,
    async run(userId, changes) {
      const alone = (some: readonly Change[]) => db.transaction(tx => writeDown(tx, userId, some))
      try {
        return await alone(changes)
      } catch (error) {
        if (changes.length === 1 || isDatabaseUnavailable(error)) throw error
        log.warn({ err: error }, 'calls of models are written down one by one, since together they cannot be')
      }
      const results: PromiseSettledResult<bigint | null>[] = []
      for (const change of changes) {
        results.push(
          ...(await alone([change]).catch(reason => [
            { status: 'rejected', reason } as PromiseRejectedResult,
          ])),
        )
      }
      return results
    },
  })

  /** Tells a customer, once, whose key's budget let a call begin no more. @throws The refusal, in any case. */
  async function tellRefusal({ keyId }: Pick<ModelCaller, 'keyId'>, error: unknown): Promise<never> {
    if (keyId !== null && error instanceof ApiError && error.code === 'api_key_spent') {
      // Of many that are refused together one tells it, and waits for the wallet with a connection.
      const told = telling.get(keyId) ?? budgets.keys.tellStopped(keyId).finally(() => telling.delete(keyId))
      telling.set(keyId, told)
      await told
    }
    throw error
  }

  const inTurn = <T>(userId: string, work: (tx: Transaction) => Promise<T>): Promise<T> =>
    turns.alone(userId, () => db.transaction(work))
  const journal = createCallJournal({ folder: deps.callsFolder, gatewayId: owner, log })
  const allowances = createAllowances({ ...deps, journal, inTurn })

  /** Begins a call in memory, where money is set aside ahead for it. @returns Its id; null where it must be written down. */
  function beginAllowed(
    { userId, keyId, models, isBudgeted, once = null }: ModelCaller,
    model: CatalogueModel,
    { most, streamed }: { most: UsedMost; streamed: boolean },
  ): string | null {
    // What is counted to the call is counted in the database, and so is what is refused for it.
    if (once || isBudgeted || model.free_calls_per_day > 0) return null
    if (models && !models.includes(model.id)) return null
    const mostOfCall = mostMicro(model, most)
    return allowances.begin({ userId, keyId, modelId: model.id, streamed, mostMicro: mostOfCall })
  }

  async function beginWritten(
    caller: ModelCaller,
    model: CatalogueModel,
    call: { most: UsedMost; streamed: boolean },
  ): Promise<string> {
    const { userId, keyId, once = null } = caller
    const write = async () => {
      const callId = ids.uuid()
      await turns.together(userId, { change: 'begin', callId, keyId, once, model, ...call })
      return callId
    }
    try {
      return await write()
    } catch (error) {
      const isEmpty = error instanceof ApiError && error.code === 'insufficient_balance'
      // What is set aside for calls to come is there for this one.
      const allowed = isEmpty ? beginAllowed(caller, model, call) : null
      if (allowed) return allowed
      if (!isEmpty || !(await allowances.giveBack(userId))) return await tellRefusal(caller, error)
    }
    return await write().catch(error => tellRefusal(caller, error))
  }

  /** Lets go allowances of gateways that have ended, and those of this one that it does not know, since its answer was lost. */
  async function dropLostAllowances(signal: AbortSignal): Promise<void> {
    const before = new Date(clock.now().getTime() - FORGOTTEN_MS)
    const isOwn = eq(modelAllowance.gatewayId, owner)
    const found = await db
      .select({ id: modelAllowance.id, userId: modelAllowance.userId })
      .from(modelAllowance)
      .where(
        or(
          and(isOwn, lt(modelAllowance.takenAt, before)),
          and(not(isOwn), hasLostGateway(modelAllowance.gatewayId)),
        ),
      )
      .limit(PAGE)
    for (const { id, userId } of found) {
      if (signal.aborted) return
      if (allowances.has(id)) continue
      try {
        await inTurn(userId, tx => dropAllowance(tx, deps, { userId, id }))
      } catch (error) {
        log.error({ err: error, allowance: id }, 'what was set aside for calls of models was not let go')
      }
    }
  }

  return {
    allowances,

    /**
     * Works on the book in a transaction of its own, in turn with the other begins and ends of a customer: what is written
     * down with calls is so together with them.
     */
    inTurn,

    /**
     * Begins calls in a transaction of {@link inTurn} that has begun with the customer: all of them, or none.
     * @returns Their ids, in their order.
     * @throws ApiError Why the first of those that may not begin may not, as {@link begin}.
     */
    async beginIn(
      tx: Transaction,
      userId: string,
      begins: readonly Omit<Begin, 'callId'>[],
    ): Promise<string[]> {
      const all = begins.map(begin => ({ ...begin, callId: ids.uuid() }))
      const [reason] = (await beginCalls(tx, deps, userId, all, null)).values()
      if (reason) throw reason
      return all.map(({ callId }) => callId)
    },

    /** For what {@link beginIn} throws, once its transaction is over. */
    tellRefusal,

    /** As {@link end}, of some calls and in the same way. @returns What each cost, by its id. */
    endIn: (tx: Transaction, userId: string, ends: readonly End[]): Promise<Map<string, bigint>> =>
      endCalls(tx, deps, userId, ends),

    /**
     * Writes a call down and sets aside what it may cost at the most, so that no number of calls at once spends more than
     * there is.
     * @returns Its id.
     * @throws ApiError `insufficient_balance`, `budget_reached`, `login_expired` where the account was deleted, and as
     *   `KeyLimits.check` and `requireFirst`.
     */
    async begin(
      caller: ModelCaller,
      model: CatalogueModel,
      call: { most: UsedMost; streamed: boolean },
    ): Promise<string> {
      const callId = beginAllowed(caller, model, call) ?? (await beginWritten(caller, model, call))
      caller.onBegun?.(callId)
      return callId
    },

    /**
     * Lets go what was set aside and charges what was used, once: of a call that has ended already nothing happens.
     * @returns What it cost, in micro-units.
     */
    async end({ userId }: ModelCaller, model: CatalogueModel, callId: string, how: CallEnd): Promise<bigint> {
      const allowedMicro = allowances.end(callId, model, how)
      if (allowedMicro !== null) return allowedMicro
      return (await turns.together(userId, { change: 'end', callId, model, how })) ?? 0n
    },

    /** Lets go what was set aside for calls whose gateway has ended before they did: nothing is charged. */
    async endLost(signal: AbortSignal): Promise<void> {
      await dropLostAllowances(signal)
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
        or(
          lt(modelCall.startedAt, before),
          and(ne(modelCall.gatewayId, owner), hasLostGateway(modelCall.gatewayId)),
        ),
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
            await letGo(tx, deps, { userId, callId: id })
          })
        } catch (error) {
          log.error({ err: error, call: id }, 'a lost call of a model was not ended')
        }
      }
    },
  }
}
export type CallBook = ReturnType<typeof createCallBook>

function resultOf(reason: ApiError | undefined, value: bigint | null): PromiseSettledResult<bigint | null> {
  return reason ? { status: 'rejected', reason } : { status: 'fulfilled', value }
}
