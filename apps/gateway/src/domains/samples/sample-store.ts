import { and, eq, gte, inArray, lt, max, min, sql } from 'drizzle-orm'
import { unionAll } from 'drizzle-orm/pg-core'
import type { Database, Queryable } from '../../platform/database/database.ts'
import { meanOf, type Weighed } from './figures.ts'
import { TIERS, type Tier } from './steps.ts'
import { sampleCoarse, sampleFine } from './tables.ts'

/** A row of the tables. */
export interface SampleRow extends Weighed {
  instanceId: string
  /** When its step began. */
  at: Date
}

/** What is kept of an instance in one tier, in seconds since 1970; null where nothing is. */
export interface Kept {
  tier: Tier
  first: number | null
  last: number | null
}

/** Rows of one statement: their text is some 200 bytes each. */
const ROWS_MAX = 5_000
/** A step is thinned so long after its end: other gateways may write their part of it later than we do. */
const THIN_LATE_SECONDS = 30
/** Rows stay so much longer than they are shown, so that they are thinned before they go. */
const CLEAR_LATE_SECONDS = 15 * 60

export type SampleStore = ReturnType<typeof createSampleStore>

/** What machines used, in the database. */
export function createSampleStore({ db }: { db: Database }) {
  /** Writes rows in one statement for all machines; what is there already stays as it is. */
  async function write(table: Tier['table'], rows: readonly SampleRow[]): Promise<void> {
    for (let at = 0; at < rows.length; at += ROWS_MAX) {
      const text = JSON.stringify(rows.slice(at, at + ROWS_MAX))
      await db.execute(sql`
        insert into ${table} (instance_id, step, at, cpu, memory_mb, disk_mb, network_in,
          network_out, gpu_load, gpu_memory_mb)
        select "instanceId", "step", "at", "cpu", "memoryMb", "diskMb", "networkIn",
          "networkOut", "gpuLoad", "gpuMemoryMb"
        from json_to_recordset(${text}::json) as sampled("instanceId" text, "step" int2, "at" timestamptz,
          "cpu" float4, "memoryMb" float4, "diskMb" float4,
          "networkIn" float4, "networkOut" float4, "gpuLoad" float4[], "gpuMemoryMb" float4[])
        on conflict do nothing`)
    }
  }

  /** What there is of an instance, tier by tier. */
  async function kept(instanceId: string): Promise<Kept[]> {
    const parts = TIERS.map(({ step, table }, index) => {
      const own = sql`from ${table} where ${table.instanceId} = ${instanceId} and ${table.step} = ${step}`
      return sql`select ${index}::int as tier, extract(epoch from (select min(at) ${own}))::float8 as first,
        extract(epoch from (select max(at) ${own}))::float8 as last`
    })
    const { rows } = await db.execute<{ tier: number; first: number | null; last: number | null }>(
      sql.join(parts, sql` union all `),
    )
    return rows.flatMap(({ tier: index, first, last }) => {
      const tier = TIERS[index]
      return tier ? [{ tier, first, last }] : []
    })
  }

  /**
   * Rows of an instance in one statement.
   * @param parts Of which tiers, and where each begins and ends, in seconds since 1970; at least one.
   */
  async function read(
    instanceId: string,
    parts: readonly { tier: Tier; from: number; to: number }[],
  ): Promise<SampleRow[]> {
    const [first, second, ...others] = parts.map(({ tier: { table, step }, from, to }) =>
      db
        .select()
        .from(table)
        .where(
          and(
            eq(table.instanceId, instanceId),
            eq(table.step, step),
            gte(table.at, new Date(from * 1000)),
            lt(table.at, new Date(to * 1000)),
          ),
        ),
    )
    if (!first) return []
    return second ? unionAll(first, second, ...others) : first
  }

  /** Makes the coarser rows of what was sampled since they were made last, and of it all where that is long ago. */
  async function thin(now: Date, signal: AbortSignal): Promise<void> {
    const [, ten, minute, tenMinutes] = TIERS
    await thinInto(ten, minute, now, signal)
    await thinInto(minute, tenMinutes, now, signal)
  }

  async function thinInto(fine: Tier, coarse: Tier, now: Date, signal: AbortSignal): Promise<void> {
    const { step } = coarse
    const end = Math.floor((now.getTime() / 1000 - THIN_LATE_SECONDS) / step) * step
    const [done] = await db
      .select({ at: max(coarse.table.at) })
      .from(coarse.table)
      .where(eq(coarse.table.step, step))
    const doneUntil = done?.at ? done.at.getTime() / 1000 + step : 0
    const within = (from: number, to: number) =>
      and(
        eq(fine.table.step, fine.step),
        gte(fine.table.at, new Date(from * 1000)),
        lt(fine.table.at, new Date(to * 1000)),
      )
    const [first] = await db
      .select({ at: min(fine.table.at) })
      .from(fine.table)
      .where(within(Math.max(doneUntil, end - fine.keptSeconds), end))
    if (!first?.at) return
    // A minute of a thousand machines at a time: few enough to hold.
    for (let from = Math.floor(first.at.getTime() / 1000 / step) * step; from < end; from += step) {
      if (signal.aborted) return
      const rows = await db
        .select()
        .from(fine.table)
        .where(within(from, from + step))
      await write(coarse.table, thinned(rows, step, new Date(from * 1000)))
    }
  }

  /**
   * Deletes what is older than it is kept.
   * @param gone Instances that are no more, all of which is deleted.
   */
  async function clear(now: Date, gone: readonly string[]): Promise<void> {
    for (const { step, keptSeconds, table } of TIERS) {
      const before = new Date(now.getTime() - (keptSeconds + CLEAR_LATE_SECONDS) * 1000)
      await db.delete(table).where(and(eq(table.step, step), lt(table.at, before)))
    }
    await forget(db, gone)
  }

  return { write, kept, read, thin, clear, forget }
}

/** Deletes all that is kept of instances. */
async function forget(q: Queryable, instanceIds: readonly string[]): Promise<void> {
  if (instanceIds.length === 0) return
  for (const table of [sampleFine, sampleCoarse])
    await q.delete(table).where(inArray(table.instanceId, [...instanceIds]))
}

/**
 * One row for each machine of what was sampled of it in a step.
 * @param rows Finer ones, in any order.
 */
export function thinned(rows: readonly SampleRow[], step: number, at: Date): SampleRow[] {
  const byMachine = Map.groupBy(rows, ({ instanceId }) => instanceId)
  return [...byMachine].map(([instanceId, own]) => ({ ...meanOf(own), instanceId, step, at }))
}
