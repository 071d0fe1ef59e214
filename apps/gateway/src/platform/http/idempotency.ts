import type { ErrorCode } from '@berth/contract/errors'
import { IDEMPOTENCY_KEPT_HOURS } from '@berth/contract/limits'
import { and, asc, eq, gt, inArray, isNull, lt } from 'drizzle-orm'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { idempotency } from '../database/tables.ts'
import { type CallKey, isRowOf, UNKNOWN_HASH } from '../once.ts'
import { ApiError } from './api-error.ts'
import type { Answer } from './envelopes.ts'

/** A running call renews its lease; when its gateway died, another try takes over this much later. */
const LEASE_MS = 6_000
const RENEW_MS = 2_000
/** Results that are looked at in one go when old answers are removed. */
const PRUNE_PAGE = 500
/** How often a call that another replica carries out is looked at. */
const POLL_MS = 100

export interface KeyedCall extends CallKey {
  /** Of everything that the call says, so that the same key with other content is told apart. */
  bodyHash: string
  /** How long a second call with the key waits for the answer of the first. */
  waitMs: number
}

/** What carrying out a call gave. */
export interface Outcome {
  answer: Answer
  /** Null when it worked. */
  errorCode: ErrorCode | null
  /** An answer that stands; else the same key may be tried again. */
  final: boolean
}

export interface KeyedOutcome extends Outcome {
  replayed: boolean
}

export interface Idempotency {
  /**
   * Carries a call out once for each key (B3). While it runs, further calls with the key wait for its answer; an
   * answer that stands is given again, byte by byte, for a day.
   * @param run Carries the call out. It may run again after a crash: it asks `earlierResult` in its transaction.
   * @throws ApiError `idempotency_key_reused`, `idempotency_in_progress`.
   */
  execute(call: KeyedCall, run: () => Promise<Outcome>): Promise<KeyedOutcome>
  /**
   * Removes answers that were kept long enough, but for those of what is not decided yet: the same key again must find
   * it however old it is, or it would be done twice.
   * @param openAmong Which of these results are still open; it comes from the domain that made them.
   * @returns How many it removed.
   */
  prune(openAmong: OpenAmong): Promise<number>
}

type OpenAmong = (results: string[]) => Promise<ReadonlySet<string>>

interface Running {
  bodyHash: string
  outcome: Promise<KeyedOutcome>
}

/**
 * Makes the keeper of idempotency keys.
 * @param deps.clock Leases and the age of answers are by this clock.
 */
export function createIdempotency(deps: { db: Database; clock: Clock }): Idempotency {
  const { db, clock } = deps
  const running = new Map<string, Running>()

  async function carryOut(call: KeyedCall, run: () => Promise<Outcome>): Promise<KeyedOutcome> {
    const stored = await begin(call)
    if (stored) return stored
    const renewal = setInterval(() => {
      db.update(idempotency)
        .set({ leaseUntil: leaseEnd(clock) })
        .where(and(isRowOf(call), eq(idempotency.state, 'running')))
        .then(
          () => {},
          // The next renewal may work; if none does, another try takes over and finds what this one did.
          () => {},
        )
    }, RENEW_MS)
    try {
      const outcome = await run()
      await finish(call, outcome)
      return { ...outcome, replayed: false }
    } finally {
      clearInterval(renewal)
    }
  }

  /** Takes the key for us and gives null, or gives the answer that stands. */
  async function begin(call: KeyedCall): Promise<KeyedOutcome | null> {
    const deadline = clock.now().getTime() + call.waitMs
    for (;;) {
      if (await insert(call)) return null
      const [row] = await db.select().from(idempotency).where(isRowOf(call))
      if (!row) continue
      if (row.bodyHash !== call.bodyHash && row.bodyHash !== UNKNOWN_HASH)
        throw new ApiError('idempotency_key_reused')
      if (row.state === 'done') return replay(row)
      if (row.leaseUntil <= clock.now() && (await takeOver(call, row.leaseUntil))) return null
      if (clock.now().getTime() >= deadline) throw new ApiError('idempotency_in_progress')
      await new Promise(resolve => setTimeout(resolve, POLL_MS))
    }
  }

  async function insert({ userId, operation, key, bodyHash }: KeyedCall): Promise<boolean> {
    const { rowCount } = await db
      .insert(idempotency)
      .values({
        userId,
        operation,
        key,
        bodyHash,
        state: 'running',
        leaseUntil: leaseEnd(clock),
        createdAt: clock.now(),
      })
      .onConflictDoNothing()
    return rowCount === 1
  }

  /** Only one of several that see the same stale lease gets it. */
  async function takeOver(call: KeyedCall, staleUntil: Date): Promise<boolean> {
    const { rowCount } = await db
      .update(idempotency)
      .set({ leaseUntil: leaseEnd(clock), bodyHash: call.bodyHash })
      .where(and(isRowOf(call), eq(idempotency.state, 'running'), eq(idempotency.leaseUntil, staleUntil)))
    return rowCount === 1
  }

  async function finish(call: KeyedCall, { answer, final }: Outcome): Promise<void> {
    // The call is done whether or not this is written: if not, the next try runs the handler, which finds it.
    await (final ? keepAnswer(call, answer) : letGo(call)).catch(() => {})
  }

  async function keepAnswer(call: KeyedCall, { httpStatus, text }: Answer): Promise<void> {
    await db.update(idempotency).set({ state: 'done', httpStatus, answer: text }).where(isRowOf(call))
  }

  /** The next try need not wait for the lease. What was done stays known, though the answer to it does not stand. */
  async function letGo(call: KeyedCall): Promise<void> {
    const ours = and(isRowOf(call), eq(idempotency.state, 'running'))
    await db.delete(idempotency).where(and(ours, isNull(idempotency.result)))
    await db.update(idempotency).set({ leaseUntil: clock.now() }).where(ours)
  }

  return {
    async execute(call, run) {
      const id = `${call.userId}\n${call.operation}\n${call.key}`
      const first = running.get(id)
      if (first) {
        if (first.bodyHash !== call.bodyHash) throw new ApiError('idempotency_key_reused')
        return { ...(await first.outcome), replayed: true }
      }
      const outcome = carryOut(call, run)
      running.set(id, { bodyHash: call.bodyHash, outcome })
      try {
        return await outcome
      } finally {
        running.delete(id)
      }
    },
    async prune(openAmong) {
      const isOld = lt(
        idempotency.createdAt,
        new Date(clock.now().getTime() - IDEMPOTENCY_KEPT_HOURS * 3_600_000),
      )
      const { rowCount } = await db.delete(idempotency).where(and(isOld, isNull(idempotency.result)))
      let removed = rowCount ?? 0
      for (let after = ''; ; ) {
        const rows = await db
          .selectDistinct({ result: idempotency.result })
          .from(idempotency)
          .where(and(isOld, gt(idempotency.result, after)))
          .orderBy(asc(idempotency.result))
          .limit(PRUNE_PAGE)
        const results = rows.flatMap(({ result }) => result ?? [])
        const open = await openAmong(results)
        const done = results.filter(result => !open.has(result))
        const pruned = await db.delete(idempotency).where(and(isOld, inArray(idempotency.result, done)))
        removed += pruned.rowCount ?? 0
        if (rows.length < PRUNE_PAGE) return removed
        after = results.at(-1) ?? after
      }
    },
  }
}

function leaseEnd(clock: Clock): Date {
  return new Date(clock.now().getTime() + LEASE_MS)
}

function replay(row: typeof idempotency.$inferSelect): KeyedOutcome {
  return {
    answer: { httpStatus: row.httpStatus ?? 200, text: row.answer ?? '' },
    errorCode: null,
    final: true,
    replayed: true,
  }
}
