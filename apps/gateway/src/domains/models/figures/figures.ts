import { type ModelFigures, modelFigures } from '@berth/contract/model-figures'
import { inArray, sql } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Catalogue } from '../../../platform/config/catalogue.ts'
import type { Database } from '../../../platform/database/database.ts'
import { wireOf } from '../../../platform/http/wire.ts'
import { modelCall, modelFigure } from '../tables.ts'

/** With fewer calls than that nothing is said: one slow answer would be half of the figure. */
export const CALLS_MIN = 20
/** So many calls of a model are looked at, the newest first: a round costs the same however much is called. */
const CALLS_MAX = 20_000
const SPEED_HOURS = 24
const ANSWERED_DAYS = 7
/** An answer that is shorter, or sooner over, tells nothing of a speed. */
const SPEED_TOKENS_MIN = 16
const SPEED_MS_MIN = 100

const figuresOf = wireOf(modelFigures)

interface FiguresDeps {
  db: Database
  clock: Clock
  models: Catalogue['models']
}

/** What one look at a model's calls finds. */
type Measured = {
  calls: number
  answered: number
  firstTokens: number
  firstTokenMs: number | null
  speeds: number
  tokensPerSecond: number | null
}

/**
 * How models have answered here: reckoned by one gateway from the calls, minute by minute, and kept, so that whoever asks
 * costs one small read.
 */
export function createFigures({ db, clock, models }: FiguresDeps) {
  async function look(modelId: string, now: Date): Promise<Measured> {
    const since = new Date(now.getTime() - ANSWERED_DAYS * 24 * 3_600_000)
    const fastSince = new Date(now.getTime() - SPEED_HOURS * 3_600_000)
    const { rows } = await db.execute<Measured>(sql`
      with looked_at as (
        select c.*,
          c.status = 'done' or (c.status = 'left' and c.first_byte_ms is not null) as is_answered,
          c.status = 'lost' or coalesce(c.error_code in ('not_answered', 'broke_off'), false) as is_ours,
          extract(epoch from c.ended_at - c.started_at) * 1000 - c.first_byte_ms as speaking_for
        from ${modelCall} c
        where c.model_id = ${modelId} and c.started_at >= ${since.toISOString()}::timestamptz
          and c.status <> 'running'
        order by c.started_at desc
        limit ${CALLS_MAX}
      ), marked as (
        select *,
          is_answered and streamed and first_byte_ms is not null
            and started_at >= ${fastSince.toISOString()}::timestamptz as has_first,
          status = 'done' and streamed and output_tokens >= ${SPEED_TOKENS_MIN} and speaking_for >= ${SPEED_MS_MIN}
            and started_at >= ${fastSince.toISOString()}::timestamptz as has_speed
        from looked_at
      )
      select
        (count(*) filter (where is_answered or is_ours))::int as "calls",
        (count(*) filter (where is_answered))::int as "answered",
        (count(*) filter (where has_first))::int as "firstTokens",
        (percentile_cont(0.5) within group (order by first_byte_ms) filter (where has_first))::float8
          as "firstTokenMs",
        (count(*) filter (where has_speed))::int as "speeds",
        (percentile_cont(0.5) within group (order by output_tokens * 1000 / nullif(speaking_for, 0))
          filter (where has_speed))::float8 as "tokensPerSecond"
      from marked`)
    const [row] = rows
    if (!row) throw new Error('a look at calls found nothing, not even none')
    return row
  }

  return {
    /** Reckons the figures of every model of the catalogue anew. */
    async measure(signal: AbortSignal): Promise<void> {
      for (const { id } of models) {
        if (signal.aborted) return
        const measuredAt = clock.now()
        const row = { ...toFigures(await look(id, measuredAt)), measuredAt }
        await db
          .insert(modelFigure)
          .values({ modelId: id, ...row })
          .onConflictDoUpdate({ target: modelFigure.modelId, set: row })
      }
    },

    /** The figures of every model of the catalogue, in its order, as they were reckoned last. */
    async list(): Promise<ModelFigures[]> {
      const ids = models.map(({ id }) => id)
      const rows = await db.select().from(modelFigure).where(inArray(modelFigure.modelId, ids))
      const known = new Map(rows.map(row => [row.modelId, row]))
      return ids.map(modelId => {
        const row = known.get(modelId)
        const tenths = row?.tenthTokensPerSecond ?? null
        return figuresOf({
          modelId,
          firstTokenMs: row?.firstTokenMs ?? null,
          tokensPerSecond: tenths === null ? null : tenths / 10,
          answeredPermille: row?.answeredPermille ?? null,
          calls: row?.calls ?? 0,
        })
      })
    },
  }
}

/** What was found, as it is kept: nothing of what was found too seldom. */
function toFigures({ calls, answered, firstTokens, firstTokenMs, speeds, tokensPerSecond }: Measured) {
  return {
    calls,
    firstTokenMs: firstTokenMs === null || firstTokens < CALLS_MIN ? null : Math.round(firstTokenMs),
    tenthTokensPerSecond:
      tokensPerSecond === null || speeds < CALLS_MIN ? null : Math.round(tokensPerSecond * 10),
    // Rounded down: 999 of 1,000 is not all of them.
    answeredPermille: calls < CALLS_MIN ? null : Math.floor((answered * 1_000) / calls),
  }
}
