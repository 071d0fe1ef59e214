import type { ModelKeeping } from '@berth/contract/model-keeping'
import { and, asc, count, eq, gte, inArray, sql } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { Clock } from '../../../platform/clock.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import type { Events } from '../../../platform/events/events.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Sealer } from '../../../platform/sealer.ts'
import { forCustomer } from '../../customers/customers.ts'
import { accountDeleted } from '../../identity/events.ts'
import { modelCallBody, modelKeeping } from '../tables.ts'
import { createRecorder, type KeptBody, type Recorder } from './recorder.ts'

/** Of one account; the oldest go first. */
export const KEPT_BYTES_MAX = 50_000_000
/** So long a gateway believes what it has read of who has their calls kept. */
const KNOWN_MS = 5_000
const KNOWN_MAX = 20_000
const PAGE = 500
const DAY_MS = 24 * 3_600_000

interface KeepingDeps {
  db: Database
  clock: Clock
  log: Pick<Logger, 'error'>
  events: Pick<Events, 'on'>
  /** Seals what is kept, each at its call and customer. */
  bodySealer: Sealer
}

/**
 * What customers ask models, and what those answer: kept of those alone who turn it on, sealed, bounded, and for as many days
 * as they choose. Turning it off deletes all of it.
 */
export function createKeeping({ db, clock, log, events, bodySealer }: KeepingDeps) {
  const known = new Map<string, { isKept: boolean; untilMs: number }>()
  const underWay = new Set<Promise<void>>()

  events.on(accountDeleted, 'kept-model-calls', async (tx, { userId }) => {
    await tx.delete(modelKeeping).where(eq(modelKeeping.userId, userId))
  })

  /** Whether calls of a customer are kept, as of a few seconds ago. Whether one is, is looked at again when it is. */
  async function isKept(userId: string): Promise<boolean> {
    const nowMs = performance.now()
    const one = known.get(userId)
    if (one && one.untilMs > nowMs) return one.isKept
    // Who calls often waits for no answer of the database: what is known is believed once more while it is asked.
    if (one && one.untilMs + KNOWN_MS > nowMs) {
      one.untilMs = nowMs + KNOWN_MS
      void readKept(userId).catch(() => undefined)
      return one.isKept
    }
    return await readKept(userId)
  }

  async function readKept(userId: string): Promise<boolean> {
    const nowMs = performance.now()
    const rows = await db.select().from(modelKeeping).where(eq(modelKeeping.userId, userId))
    if (known.size >= KNOWN_MAX) known.clear()
    known.set(userId, { isKept: rows.length > 0, untilMs: nowMs + KNOWN_MS })
    return rows.length > 0
  }

  async function keep(userId: string, callId: string, body: KeptBody): Promise<void> {
    const { box, keyId } = bodySealer.seal(JSON.stringify(body), [userId, callId])
    await db.transaction(async tx => {
      await forCustomer(tx, userId)
      const [row] = await tx.select().from(modelKeeping).where(eq(modelKeeping.userId, userId)).for('update')
      if (!row) return
      const values = { callId, userId, madeAt: clock.now(), box, keyId, bytes: box.length }
      const freed = await makeRoom(tx, userId, row.bytes + box.length - KEPT_BYTES_MAX)
      await tx.insert(modelCallBody).values(values)
      await tx
        .update(modelKeeping)
        .set({ bytes: row.bytes + box.length - freed })
        .where(eq(modelKeeping.userId, userId))
    })
  }

  /** Deletes the oldest until so many bytes are free. @returns How many are. */
  async function makeRoom(tx: Transaction, userId: string, bytes: number): Promise<number> {
    let freed = 0
    while (freed < bytes) {
      const oldest = await tx
        .select({ callId: modelCallBody.callId, bytes: modelCallBody.bytes })
        .from(modelCallBody)
        .where(eq(modelCallBody.userId, userId))
        .orderBy(asc(modelCallBody.madeAt))
        .limit(PAGE)
      const gone: string[] = []
      for (const one of oldest) {
        if (freed >= bytes) break
        freed += one.bytes
        gone.push(one.callId)
      }
      if (gone.length === 0) break
      await tx.delete(modelCallBody).where(inArray(modelCallBody.callId, gone))
    }
    return freed
  }

  /** What a customer has kept. */
  async function get(userId: string): Promise<ModelKeeping> {
    const [row] = await db.select().from(modelKeeping).where(eq(modelKeeping.userId, userId))
    const [held] = await db
      .select({ calls: count() })
      .from(modelCallBody)
      .where(eq(modelCallBody.userId, userId))
    return { days: row?.days ?? null, calls: held?.calls ?? 0, bytes: row?.bytes ?? 0 }
  }

  return {
    get,

    /** @param days How long calls are kept from now on, and those that are already; null: none, and those that are go. */
    async set(userId: string, days: number | null): Promise<ModelKeeping> {
      await db.transaction(async tx => {
        await forCustomer(tx, userId)
        if (days === null) await tx.delete(modelKeeping).where(eq(modelKeeping.userId, userId))
        else
          await tx
            .insert(modelKeeping)
            .values({ userId, days })
            .onConflictDoUpdate({ target: modelKeeping.userId, set: { days } })
      })
      known.delete(userId)
      return await get(userId)
    },

    /**
     * Begins to write a call along, where its customer has it kept.
     * @param question Made only then.
     */
    async record(userId: string, question: () => string): Promise<Recorder | null> {
      return (await isKept(userId).catch(() => false)) ? createRecorder(question()) : null
    },

    /** Keeps a call that is over. Nobody waits for it, and where it cannot be kept, it is not. */
    keep(userId: string, callId: string, recorder: Recorder): void {
      const kept = keep(userId, callId, recorder.body()).catch(error => {
        log.error({ err: error, call: callId }, 'a call of a model was not kept')
      })
      underWay.add(kept)
      void kept.finally(() => underWay.delete(kept))
    },

    /** @throws ApiError `not_found` where the customer has none kept by that id, or its day has come. */
    async read(userId: string, callId: string): Promise<KeptBody & { deletedAt: Date }> {
      const [row] = await db
        .select({ body: modelCallBody, days: modelKeeping.days })
        .from(modelCallBody)
        .innerJoin(modelKeeping, eq(modelKeeping.userId, modelCallBody.userId))
        .where(and(eq(modelCallBody.callId, callId), eq(modelCallBody.userId, userId)))
      const deletedAt = row && new Date(row.body.madeAt.getTime() + row.days * DAY_MS)
      if (!deletedAt || deletedAt <= clock.now()) throw new ApiError('not_found')
      return { ...(JSON.parse(bodySealer.open(row.body, [userId, callId])) as KeptBody), deletedAt }
    },

    /** Deletes what has been kept for as many days as its customer chose. */
    async purge(signal: AbortSignal): Promise<void> {
      const now = clock.now().toISOString()
      while (!signal.aborted) {
        const { rows } = await db.execute<{ gone: number }>(sql`
          with over as (
            select b.call_id, b.user_id, b.bytes from ${modelCallBody} b
            join ${modelKeeping} k on k.user_id = b.user_id
            where b.made_at <= ${now}::timestamptz - make_interval(days => k.days) limit ${PAGE}
          ), gone as (
            delete from ${modelCallBody} b using over where b.call_id = over.call_id returning b.user_id, b.bytes
          ), counted as (
            update ${modelKeeping} k set bytes = greatest(0, k.bytes - s.bytes)
            from (select user_id, sum(bytes)::int as bytes from gone group by user_id) s where s.user_id = k.user_id
          )
          select count(*)::int as gone from gone`)
        if ((rows[0]?.gone ?? 0) < PAGE) return
      }
    },

    /** Waits until what is over is kept. */
    async settle(): Promise<void> {
      await Promise.allSettled([...underWay])
    },
  }
}
export type Keeping = ReturnType<typeof createKeeping>

/** Which of some calls are kept, for the log of calls. */
export async function keptAmong(
  q: Pick<Database, 'select'>,
  userId: string,
  { ids, now }: { ids: readonly string[]; now: Date },
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set()
  const rows = await q
    .select({ callId: modelCallBody.callId })
    .from(modelCallBody)
    .innerJoin(modelKeeping, eq(modelKeeping.userId, modelCallBody.userId))
    .where(
      and(
        eq(modelCallBody.userId, userId),
        inArray(modelCallBody.callId, [...ids]),
        gte(
          modelCallBody.madeAt,
          sql`${now.toISOString()}::timestamptz - make_interval(days => ${modelKeeping.days})`,
        ),
      ),
    )
  return new Set(rows.map(({ callId }) => callId))
}
