import type { CallData } from '@berth/contract/call'
import type { Currency } from '@berth/contract/limits'
import {
  type CallSource,
  type CallStatus,
  callTotals,
  type LoggedCall,
  type listSessionLog,
  loggedCall,
} from '@berth/contract/session-log'
import { and, desc, eq, gte, isNotNull, isNull, lt, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Catalogue } from '../../../platform/config/catalogue.ts'
import type { Database, Queryable } from '../../../platform/database/database.ts'
import { type Cursors, createCursors } from '../../../platform/http/cursors.ts'
import { wireOf } from '../../../platform/http/wire.ts'
import type { Sealer } from '../../../platform/sealer.ts'
import { keptAmong } from '../kept/keeping.ts'
import { apiKey, modelCall } from '../tables.ts'

const callOf = wireOf(loggedCall)
const totalsOf = wireOf(callTotals)

/** What calls are narrowed by; moments as the wire has them, the second one is not among them. */
export interface LogFilter {
  model?: string | undefined
  /** The id of a key. */
  key?: string | undefined
  status?: CallStatus | undefined
  source?: CallSource | undefined
  from?: string | undefined
  until?: string | undefined
}

/** Says a text of the catalogue in the caller's language. */
export type SayName = (english: string) => string

export interface SessionLogDeps {
  db: Database
  clock: Clock
  catalogue: Pick<Catalogue, 'models'>
  /** Seals where pages begin. */
  sealer: Sealer
  currencyOf: (userId: string) => Promise<Currency>
}

/** A call as it is kept, with what its key is called. */
export type LogRow = Awaited<ReturnType<typeof readCalls>>[number]

/**
 * A customer's calls, newest first, after one of them. The index `model_call_user` gives them in this order, and a call's
 * place never changes: so one that is there all the time comes once, whatever is called meanwhile.
 */
export async function readCalls(
  q: Pick<Queryable, 'select'>,
  userId: string,
  filter: LogFilter,
  { limit, after }: { limit: number; after: { startedAt: string; id: string } | null },
) {
  return await q
    .select({ call: modelCall, keyName: apiKey.name })
    .from(modelCall)
    .leftJoin(apiKey, and(eq(apiKey.id, modelCall.keyId), eq(apiKey.userId, modelCall.userId)))
    .where(
      and(
        ownCalls(userId, filter),
        after
          ? sql`(${modelCall.startedAt}, ${modelCall.id}) < (${after.startedAt}::timestamptz, ${after.id}::uuid)`
          : undefined,
      ),
    )
    .orderBy(desc(modelCall.startedAt), desc(modelCall.id))
    .limit(limit)
}

/** The one place that says which calls a filter lets through, for the list, its totals and its file. */
function ownCalls(userId: string, { model, key, status, source, from, until }: LogFilter): SQL | undefined {
  return and(
    eq(modelCall.userId, userId),
    model === undefined ? undefined : eq(modelCall.modelId, model),
    key === undefined ? undefined : eq(modelCall.keyId, key),
    status === undefined ? undefined : eq(modelCall.status, status),
    source && (source === 'api' ? isNotNull(modelCall.keyId) : isNull(modelCall.keyId)),
    from === undefined ? undefined : gte(modelCall.startedAt, new Date(from)),
    until === undefined ? undefined : lt(modelCall.startedAt, new Date(until)),
  )
}

/** Where the page after a call begins. */
export const placeOf = ({ call }: LogRow) => ({ startedAt: call.startedAt.toISOString(), id: call.id })

/** A call on the wire. */
export function toLogged(
  { call, keyName }: LogRow,
  { models, say, kept }: { models: Catalogue['models']; say: SayName; kept: ReadonlySet<string> },
): LoggedCall {
  const known = models.find(({ id }) => id === call.modelId)
  return callOf({
    ...call,
    modelName: known ? say(known.name) : call.modelId,
    source: call.keyId === null ? 'console' : 'api',
    keyName,
    kept: kept.has(call.id),
    latencyMs: call.endedAt && Math.max(0, call.endedAt.getTime() - call.startedAt.getTime()),
    firstTokenMs: call.firstByteMs,
  })
}

async function readTotals(q: Pick<Queryable, 'select'>, userId: string, filter: LogFilter) {
  const sumOf = (column: SQLWrapper) => sql<number>`coalesce(sum(${column}), 0)::float8`.mapWith(Number)
  const [row] = await q
    .select({
      calls: sql<number>`count(*)::int`,
      failed: sql<number>`(count(*) filter (where ${modelCall.status} in ('failed', 'lost')))::int`,
      inputTokens: sumOf(modelCall.inputTokens),
      cachedTokens: sumOf(modelCall.cachedTokens),
      outputTokens: sumOf(modelCall.outputTokens),
      images: sumOf(modelCall.images),
      videoSeconds: sumOf(modelCall.videoSeconds),
      costMicro: sql<bigint>`coalesce(sum(${modelCall.costMicro}), 0)`.mapWith(BigInt),
    })
    .from(modelCall)
    .where(ownCalls(userId, filter))
  if (!row) throw new Error('a sum over calls found nothing, not even none')
  return totalsOf(row)
}

/** The log of a customer's calls: what was called when by which key, how fast, and what it cost (R1.5). */
export function createSessionLog({ db, clock, catalogue, sealer, currencyOf }: SessionLogDeps) {
  const cursors = createCursors(sealer)

  return {
    /**
     * A page of the log, and on the first one what all of it comes to.
     * @throws ApiError `cursor_invalid`.
     */
    async page(
      userId: string,
      { cursor, limit, ...filter }: LogFilter & { cursor?: string | undefined; limit: number },
      say: SayName,
    ): Promise<CallData<typeof listSessionLog>> {
      const place = placeNamesOf(userId, filter)
      const after = cursor === undefined ? null : openCursor(cursors, cursor, place)
      // One more tells whether there is another page.
      const rows = await readCalls(db, userId, filter, { limit: limit + 1, after })
      const shown = rows.slice(0, limit)
      const last = shown.at(-1)
      const next = last && rows.length > limit ? placeOf(last) : null
      const kept = await keptAmong(db, userId, { ids: shown.map(({ call }) => call.id), now: clock.now() })
      return {
        items: shown.map(row => toLogged(row, { models: catalogue.models, say, kept })),
        next_cursor: next && cursors.seal([next.startedAt, next.id], place),
        totals: cursor === undefined ? await readTotals(db, userId, filter) : null,
        currency: await currencyOf(userId),
      }
    },
  }
}

/** A cursor goes on with the list that it was made for: of that customer, narrowed in that way. */
function placeNamesOf(userId: string, { model, key, status, source, from, until }: LogFilter): string[] {
  return [userId, ...[model, key, status, source, from, until].map(part => part ?? '')]
}

function openCursor(cursors: Cursors, cursor: string, place: readonly string[]) {
  const [startedAt = '', id = ''] = cursors.open(cursor, place)
  return { startedAt, id }
}
