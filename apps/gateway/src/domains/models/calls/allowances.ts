import type { Logger } from 'pino'
import { createAtOnce } from '../../../platform/at-once.ts'
import type { CatalogueModel } from '../../../platform/config/catalogue.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import { isDatabaseUnavailable } from '../../../platform/database/unavailable.ts'
import { type AllowanceBookDeps, type AllowedCall, type EndedCall, writeAllowed } from './allowance-book.ts'
import type { CallJournal } from './call-journal.ts'
import type { CallEnd } from './end-calls.ts'
import {
  type Allowance,
  allOf,
  createOften,
  isOver,
  moveTo,
  noteEnded,
  type Often,
  outstandingMicro,
  overWith,
  type Running,
  retire,
  runningLong,
} from './often-callers.ts'
import { recoverCalls } from './recover-calls.ts'
import { metersOf } from './used.ts'

/** Calls of a customer in that time for which money is set aside ahead; what comes more seldom is written down call by call. */
const OFTEN_CALLS = 3
const OFTEN_MS = 30_000
/** So long an allowance pays for calls that begin; then there is another one. */
const ALLOWED_MS = 30_000
/** Before it is over, or when less than that part of it is left, the next one is taken. */
const AHEAD_MS = 5_000
const LOW_PART = 4n
/**
 * It is meant for so many calls like the one it is taken for, and no fewer than the second number: who comes near the end of
 * what they have has each call looked at by itself.
 */
const CALLS_AHEAD = 64n
const CALLS_LEAST = 64n
/** Where there was too little for one, it is not asked for again for so long. */
const NONE_MS = 2_000
/** What is over waits for so long for others, and no longer than until there are so many. */
const GATHER_MS = 2_000
const TOGETHER_MAX = 200
/** Of so many customers at a time: theirs often come due together, and calls want the processor, too. */
const WRITES_AT_ONCE = 2
/** After the database was away. */
const AGAIN_MS = 1_000
/** The log says of a call that it runs once it has for so long. */
const SAID_MS = 2_000
const SWEEP_MS = 2_000

interface Deps extends AllowanceBookDeps {
  log: Pick<Logger, 'error' | 'warn'>
  /** How many calls are many: other than usual for tests. */
  oftenCalls?: number | undefined
  journal: CallJournal
  billing: AllowanceBookDeps['billing'] & { priceOf(meters: EndedCall['meters']): bigint }
  /** Works on a customer's books in turn with what else is written there. */
  inTurn<T>(userId: string, work: (tx: Transaction) => Promise<T>): Promise<T>
}

/**
 * Calls of customers who call often: money for them is set aside ahead, so that they begin and end in this gateway's memory,
 * and are written down together (decision 0157).
 */
export function createAllowances(deps: Deps) {
  const { clock, ids, log, billing, journal, inTurn, oftenCalls = OFTEN_CALLS } = deps
  const often = new Map<string, Often>()
  const running = new Map<string, Running>()
  const inTheBackground = createAtOnce(WRITES_AT_ONCE)
  let hears = false
  let isStopping = false

  function oftenOf(userId: string): Often {
    const known = often.get(userId)
    if (known) return known
    const made = createOften(userId)
    often.set(userId, made)
    return made
  }

  /** Wants an allowance for calls like one that costs so much at the most. */
  function want(one: Often, mostMicro: bigint, nowMs: number): void {
    if (!hears || isStopping || one.wanted || nowMs < one.notBeforeMs) return
    const { current } = one
    // What was used of the last one, and is set aside for what runs, twice.
    const usedMicro = current ? current.amountMicro - current.leftMicro : 0n
    const calls = mostMicro * CALLS_AHEAD
    const amountMicro = (calls > usedMicro * 2n ? calls : usedMicro * 2n) + outstandingMicro(one)
    one.wanted = { amountMicro, leastMicro: mostMicro * CALLS_LEAST }
    write(one)
  }

  function write(one: Often): void {
    if (one.timer) clearTimeout(one.timer)
    one.timer = null
    // A call waits for an allowance, and a gateway that leaves for all of this.
    const begun = () => (one.wanted || isStopping ? writeNow(one) : inTheBackground(() => writeNow(one)))
    one.writing ??= begun().finally(() => {
      one.writing = null
      if (one.ended.length >= TOGETHER_MAX || one.wanted) write(one)
      else if (one.ended.length > 0) writeSoon(one)
    })
  }

  function writeSoon(one: Often, afterMs = GATHER_MS): void {
    if (one.writing === null) one.timer ??= setTimeout(() => write(one), afterMs)
  }

  async function writeNow(one: Often): Promise<void> {
    const { userId, wanted, changes } = one
    const nowMs = performance.now()
    const atMs = clock.now().getTime()
    const ended = one.ended.splice(0, TOGETHER_MAX)
    const long = runningLong(one, nowMs - SAID_MS)
    const retired = overWith(one, ended)
    if (ended.length === 0 && long.length === 0 && retired.length === 0 && wanted === null) return
    try {
      const retiredIds = retired.map(({ id }) => id)
      const work = { ended, running: long, retired: retiredIds, wanted }
      const granted = await inTurn(userId, tx => writeAllowed(tx, deps, userId, work))
      for (const call of long) call.isSaid = true
      for (const allowance of retired) one.former.delete(allowance)
      written(one, ended)
      if (wanted) one.wanted = null
      if (wanted && granted === null) one.notBeforeMs = performance.now() + NONE_MS
      if (granted === null) return
      const endsMs = granted.endsAt ? granted.endsAt.getTime() - clock.now().getTime() : ALLOWED_MS
      const lastsMs = Math.min(ALLOWED_MS, endsMs)
      const { id, amountMicro } = granted
      const made: Allowance = {
        ...{ id, amountMicro, leftMicro: amountMicro, running: 0, ended: 0 },
        ...{ untilMs: nowMs + lastsMs, untilAtMs: atMs + lastsMs },
      }
      retire(one)
      if (amountMicro === wanted?.amountMicro) moveTo(one, made)
      // What was read for it may be of before a change that was told meanwhile.
      if (one.changes === changes && hears && !isStopping) one.current = made
      else one.former.add(made)
    } catch (error) {
      one.ended.unshift(...ended)
      if (wanted) {
        one.wanted = null
        one.notBeforeMs = performance.now() + NONE_MS
      }
      log.warn({ err: error }, 'calls of models were not written down; it is tried again')
      if (!isDatabaseUnavailable(error)) await writeEach(one)
      else await new Promise(done => setTimeout(done, AGAIN_MS).unref())
    }
  }

  function writeOnly(userId: string, ended: readonly EndedCall[]): Promise<unknown> {
    return inTurn(userId, tx =>
      writeAllowed(tx, deps, userId, { ended, running: [], retired: [], wanted: null }),
    )
  }

  /** Writes calls down one by one, since together they cannot be: one that cannot takes no other along. */
  async function writeEach(one: Often): Promise<void> {
    for (const call of one.ended.splice(0)) {
      try {
        await writeOnly(one.userId, [call])
        written(one, [call])
      } catch (error) {
        if (isDatabaseUnavailable(error)) {
          one.ended.push(call)
          continue
        }
        log.error({ err: error, call: call.id }, 'the end of a call of a model cannot be written down')
        // What cannot be put aside either stays in the journal, and is tried again when a gateway starts on this folder.
        if (journal.reject([call])) written(one, [call])
        else noteEnded(one, [call])
      }
    }
  }

  function written(one: Often, ended: readonly EndedCall[]): void {
    noteEnded(one, ended)
    journal.done(ended)
  }

  /** Looks after customers: what is over is let go, and what runs for long is said. */
  function sweep(): void {
    const nowMs = performance.now()
    for (const one of often.values()) {
      if (one.current && isOver(one.current, nowMs, clock.now())) retire(one)
      if (runningLong(one, nowMs - SAID_MS).length > 0 || overWith(one, []).length > 0) write(one)
      const isIdle = one.running.size === 0 && one.ended.length === 0 && one.writing === null
      const last = one.calledMs.at(-1) ?? 0
      if (isIdle && !one.current && one.former.size === 0 && nowMs - last > OFTEN_MS) often.delete(one.userId)
    }
  }
  let sweeping: NodeJS.Timeout | null = null

  /** Writes down all that is over. Where the database is away, it stays in the journal. */
  async function settle(userId?: string): Promise<void> {
    const asked = [...often.values()].filter(one => userId === undefined || one.userId === userId)
    await Promise.all(
      asked.map(async one => {
        await one.writing
        for (let left = Number.POSITIVE_INFINITY; one.ended.length > 0 && one.ended.length < left; ) {
          left = one.ended.length
          write(one)
          await one.writing
        }
      }),
    )
  }

  return {
    /**
     * Begins a call where there is an allowance that pays for it.
     * @param call.mostMicro What it may cost at the most.
     * @returns Its id; null where it is to be written down by itself.
     */
    begin(call: Omit<AllowedCall, 'id' | 'startedAt'> & { mostMicro: bigint }): string | null {
      const { userId, mostMicro } = call
      const nowMs = performance.now()
      const one = oftenOf(userId)
      one.calledMs.push(nowMs)
      if (one.calledMs.length > oftenCalls) one.calledMs.shift()
      if (one.current && isOver(one.current, nowMs, clock.now())) retire(one)
      const { current } = one
      const pays = current !== null && hears && current.leftMicro >= mostMicro
      const isLow =
        !current ||
        current.untilMs - nowMs < AHEAD_MS ||
        current.leftMicro - mostMicro < current.amountMicro / LOW_PART
      const isOften = one.calledMs.length === oftenCalls && nowMs - (one.calledMs[0] ?? 0) < OFTEN_MS
      if (isLow && isOften) want(one, mostMicro, nowMs)
      if (!pays) return null
      const { keyId, modelId, streamed } = call
      const begun: Running = {
        ...{ id: ids.uuid(), userId, keyId, modelId, streamed, startedAt: clock.now() },
        ...{ allowance: current, mostMicro, beganMs: nowMs, isSaid: false },
      }
      current.leftMicro -= mostMicro
      current.running += 1
      one.running.add(begun)
      running.set(begun.id, begun)
      return begun.id
    },

    /** Ends a call that {@link begin} began, once. @returns What it cost, in micro-units; null of any other. */
    end(callId: string, model: Pick<CatalogueModel, 'name'> & Parameters<typeof metersOf>[0], how: CallEnd) {
      const call = running.get(callId)
      if (!call) return null
      running.delete(callId)
      const one = oftenOf(call.userId)
      one.running.delete(call)
      const { allowance, mostMicro, id, userId, keyId, modelId, streamed, startedAt } = call
      const meters = metersOf(model, how.used)
      const costMicro = billing.priceOf(meters)
      allowance.running -= 1
      allowance.ended += 1
      allowance.leftMicro += mostMicro - costMicro
      const ended: EndedCall = {
        ...{ id, userId, keyId, modelId, streamed, startedAt, allowanceId: allowance.id },
        ...{ name: model.name, endedAt: clock.now(), how, meters, costMicro },
      }
      journal.add(ended)
      one.ended.push(ended)
      if (one.ended.length >= TOGETHER_MAX) write(one)
      else writeSoon(one)
      return costMicro
    },

    /**
     * Lets go what no call needs, for somebody who has nothing left besides; for a while nothing is set aside for them again.
     * @returns Whether anything was let go.
     */
    async giveBack(userId: string): Promise<boolean> {
      const one = often.get(userId)
      if (!one || allOf(one).length === 0) return false
      const before = allOf(one).length
      retire(one)
      one.notBeforeMs = performance.now() + ALLOWED_MS
      await one.writing
      write(one)
      await one.writing
      return allOf(one).length < before
    },

    /** Nothing more begins by what was read of a customer; null: of anybody. */
    forget(userId: string | null): void {
      const some = userId === null ? [...often.values()] : [often.get(userId)]
      for (const one of some) {
        if (!one) continue
        one.changes += 1
        retire(one)
      }
    },

    /** Whether changes are heard from now on: nothing is allowed where they are not. */
    hear(does: boolean): void {
      hears = does
    },

    /** Whether this gateway still has use for an allowance. */
    has: (id: string): boolean => [...often.values()].some(one => allOf(one).some(each => each.id === id)),

    /** Writes down what others have left in the data folder that were killed. @throws As {@link recoverCalls}. */
    recover: (): Promise<void> =>
      recoverCalls({
        journal,
        log,
        write: (userId, ended) => writeOnly(userId, ended),
        togetherMax: TOGETHER_MAX,
      }),

    settle,

    start(): void {
      sweeping ??= setInterval(sweep, SWEEP_MS).unref()
    },

    /** Writes all down and lets all go. */
    async stop(): Promise<void> {
      isStopping = true
      if (sweeping) clearInterval(sweeping)
      for (const one of often.values()) retire(one)
      await settle()
      await Promise.all(
        [...often.values()].map(async one => {
          write(one)
          await one.writing
          if (one.timer) clearTimeout(one.timer)
        }),
      )
      journal.close()
    },
  }
}
