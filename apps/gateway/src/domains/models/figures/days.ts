import { MODEL_DAYS, type ModelDay, modelDay as modelDayEntity } from '@berth/contract/model-figures'
import { and, eq, gt, lt, sql } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Catalogue } from '../../../platform/config/catalogue.ts'
import type { Database } from '../../../platform/database/database.ts'
import { wireOf } from '../../../platform/http/wire.ts'
import { modelCall, modelDay } from '../tables.ts'
import { CALLS_MIN } from './figures.ts'

/** So many calls of a model are looked at in a round, the newest first: a round costs the same however much is called. */
const CALLS_MAX = 200_000
const DAY_MS = 24 * 3_600_000

const dayOf = wireOf(modelDayEntity)

interface DaysDeps {
  db: Database
  clock: Clock
  models: Catalogue['models']
}

/** How models have answered day by day (of UTC): counted by one gateway from the calls, and kept as long as it is told. */
export function createDays({ db, clock, models }: DaysDeps) {
  const dayText = (ago: number) => new Date(clock.now().getTime() - ago * DAY_MS).toISOString().slice(0, 10)

  /** Counts a model's calls from a day on. What was counted already of a day does not become less. */
  async function count(modelId: string, from: string): Promise<void> {
    await db.execute(sql`
      insert into ${modelDay} (model_id, day, calls, answered, measured_at)
      select ${modelId}, day, count(*)::int, (count(*) filter (where is_answered))::int,
        ${clock.now().toISOString()}::timestamptz
      from (
        select (c.started_at at time zone 'UTC')::date as day,
          c.status = 'done' or (c.status = 'left' and c.first_byte_ms is not null) as is_answered,
          c.status = 'lost' or coalesce(c.error_code in ('not_answered', 'broke_off'), false) as is_ours
        from ${modelCall} c
        where c.model_id = ${modelId} and c.started_at >= ${`${from}T00:00:00Z`}::timestamptz
          and c.status <> 'running'
        order by c.started_at desc limit ${CALLS_MAX}
      ) looked_at
      where is_answered or is_ours
      group by day
      on conflict (model_id, day) do update
        set calls = excluded.calls, answered = excluded.answered, measured_at = excluded.measured_at
        where excluded.calls >= model_day.calls`)
  }

  return {
    /** Counts today and yesterday anew, of a model that was never counted all days that are told; forgets older ones. */
    async measure(signal: AbortSignal): Promise<void> {
      for (const { id } of models) {
        if (signal.aborted) return
        const [counted] = await db.select().from(modelDay).where(eq(modelDay.modelId, id)).limit(1)
        await count(id, dayText(counted ? 1 : MODEL_DAYS - 1))
      }
      await db.delete(modelDay).where(lt(modelDay.day, dayText(MODEL_DAYS)))
    },

    /** The last thirty days of a model, the oldest first; of an unknown one nothing was measured. */
    async list(modelId: string): Promise<ModelDay[]> {
      const rows = await db
        .select()
        .from(modelDay)
        .where(and(eq(modelDay.modelId, modelId), gt(modelDay.day, dayText(MODEL_DAYS))))
      const known = new Map(rows.map(row => [row.day, row]))
      return Array.from({ length: MODEL_DAYS }, (_, at) => {
        const day = dayText(MODEL_DAYS - 1 - at)
        const { calls = 0, answered = 0 } = known.get(day) ?? {}
        const answeredPermille = calls < CALLS_MIN ? null : Math.floor((answered * 1_000) / calls)
        return dayOf({ day, calls, answeredPermille })
      })
    },
  }
}
