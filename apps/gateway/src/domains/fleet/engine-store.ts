import { and, eq, gt, isNull, lt, ne, type SQL, sql } from 'drizzle-orm'
import type { Database } from '../../platform/database/database.ts'
import { notify } from '../../platform/database/open-database.ts'
import { type EngineFacts, engine, engineReach } from './tables.ts'

/** The channel on which gateways tell each other that engines came, changed or went. */
export const FLEET_CHANNEL = 'fleet'

/** A gateway that does not say again that it reaches an engine is taken not to, so long after it last did. */
const REACH_MS = 12_000
/** That is said again after this: looks come more often, and one that fails is followed by others in time. */
const RENEW_MS = 5_000
const KEPT_MS = 3_600_000

/** An engine that a gateway reaches. */
interface Reached {
  id: string
  driver: string
  facts: EngineFacts
  /** What the version before called it; its row becomes this one. */
  formerId: string | null
}

/** An engine as the database knows it. */
export interface KnownEngine {
  id: string
  driver: string
  /** Null until it was seen by this version. */
  facts: EngineFacts | null
  /** Gateways that reach it now. */
  reachedBy: string[]
  /** The gateway that looks after its machines now; null when none does. */
  servedBy: string | null
}

/**
 * What gateways tell each other about engines. Times are the database's, so that gateways whose clocks differ agree.
 * @param deps.selfId This gateway.
 */
export function createEngineStore({ db, selfId }: { db: Database; selfId: string }) {
  const until = sql`now() + make_interval(secs => ${REACH_MS / 1_000})`
  /** When this gateway last wrote that it reaches an engine, by `performance.now()`, and what it wrote. */
  const written = new Map<string, { at: number; facts: string }>()

  /** Says again what was said. @returns False where that does not stand there any more. */
  async function renew(id: string, facts: EngineFacts): Promise<boolean> {
    const renewed = await db
      .update(engineReach)
      .set({ seenUntil: until })
      .from(engine)
      .where(
        and(
          eq(engineReach.engineId, id),
          eq(engineReach.gatewayId, selfId),
          gt(engineReach.seenUntil, sql`now()`),
          eq(engine.id, id),
          eq(engine.facts, facts),
        ),
      )
      .returning({ id: engineReach.engineId })
    return renewed.length > 0
  }

  async function writeWhole({ id, driver, facts, formerId }: Reached): Promise<void> {
    await db.transaction(async tx => {
      const [before] = await tx.select().from(engine).where(eq(engine.id, id))
      const [former] = formerId ? await tx.delete(engine).where(eq(engine.id, formerId)).returning() : []
      const [row] = await tx
        .insert(engine)
        .values({
          id,
          driver,
          facts,
          ...(former && { firstSeenAt: former.firstSeenAt, pairedAt: former.pairedAt }),
        })
        .onConflictDoUpdate({
          target: engine.id,
          set: {
            facts,
            lastSeenAt: sql`now()`,
            pairedAt: sql`coalesce(${engine.pairedAt}, excluded.paired_at)`,
          },
        })
        .returning({ facts: engine.facts })
      const [reach] = await tx
        .insert(engineReach)
        .values({ engineId: id, gatewayId: selfId, seenUntil: until })
        .onConflictDoUpdate({
          target: [engineReach.engineId, engineReach.gatewayId],
          set: { seenUntil: until },
        })
        // Zero where the row was not there before.
        .returning({ isNew: sql<boolean>`xmax = 0` })
      const changed = JSON.stringify(before?.facts) !== JSON.stringify(row?.facts)
      if (reach?.isNew || changed || former) await notify(tx, FLEET_CHANNEL, id)
      const old = sql`now() - make_interval(secs => ${KEPT_MS / 1_000})`
      await tx.delete(engineReach).where(lt(engineReach.seenUntil, old))
    })
  }

  /** Tells the others of what is gone. */
  async function remove(which: SQL | undefined): Promise<void> {
    const gone = await db.delete(engineReach).where(which).returning({ id: engineReach.engineId })
    for (const { id } of gone) await notify(db, FLEET_CHANNEL, id)
  }

  return {
    /**
     * Says that this gateway reaches an engine, and what that is; as often as it looks. Others are told when it is news.
     */
    async reached(found: Reached): Promise<void> {
      const { id, facts } = found
      const last = written.get(id)
      const asText = JSON.stringify(facts)
      const isSame = last?.facts === asText
      if (isSame && performance.now() - last.at < RENEW_MS) return
      if (!isSame || !(await renew(id, facts))) await writeWhole(found)
      written.set(id, { at: performance.now(), facts: asText })
    },

    /** Takes back that this gateway reaches an engine: others may take over at once. */
    async withdraw(engineId: string): Promise<void> {
      written.delete(engineId)
      await remove(and(eq(engineReach.gatewayId, selfId), eq(engineReach.engineId, engineId)))
    },

    /** Takes back that a gateway reaches anything. */
    async withdrawAll(gatewayId: string): Promise<void> {
      if (gatewayId === selfId) written.clear()
      await remove(eq(engineReach.gatewayId, gatewayId))
    },

    /** Whether another gateway says that it reaches an engine. */
    async isReachedByOthers(engineId: string): Promise<boolean> {
      const rows = await db
        .select({ id: engineReach.gatewayId })
        .from(engineReach)
        .where(
          and(
            eq(engineReach.engineId, engineId),
            ne(engineReach.gatewayId, selfId),
            gt(engineReach.seenUntil, sql`now()`),
          ),
        )
        .limit(1)
      return rows.length > 0
    },

    /** Every engine, with who reaches and who serves it now. */
    async all(): Promise<KnownEngine[]> {
      const { rows } = await db.execute<{
        id: string
        driver: string
        facts: EngineFacts | null
        reached_by: string[]
        served_by: string | null
      }>(sql`
        select engine.id, engine.driver, engine.facts,
          coalesce(array_agg(engine_reach.gateway_id::text order by engine_reach.gateway_id)
            filter (where engine_reach.gateway_id is not null), '{}') as reached_by,
          (select owner from lease
            where lease.name = 'engine ' || engine.id and lease.until > now()) as served_by
        from engine
        left join engine_reach on engine_reach.engine_id = engine.id and engine_reach.seen_until > now()
        group by engine.id order by engine.id`)
      return rows.map(({ id, driver, facts, reached_by, served_by }) => ({
        id,
        driver,
        facts,
        reachedBy: reached_by,
        servedBy: served_by,
      }))
    },

    /** Whether an engine's machines are known to be this database's. */
    async isPaired(engineId: string): Promise<boolean> {
      const [row] = await db.select({ pairedAt: engine.pairedAt }).from(engine).where(eq(engine.id, engineId))
      return row !== undefined && row.pairedAt !== null
    },

    /** Writes down that an engine's machines are this database's. */
    async pair(engineId: string): Promise<void> {
      await db
        .update(engine)
        .set({ pairedAt: sql`now()` })
        .where(and(eq(engine.id, engineId), isNull(engine.pairedAt)))
    },
  }
}
