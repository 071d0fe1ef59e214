import type { MeasureTrouble } from '@berth/contract/volumes'
import { and, eq, inArray, isNull, lte } from 'drizzle-orm'
import { answerInTime } from '../../drivers/compute/port/answer-in-time.ts'
import { lackOf, offered } from '../../drivers/compute/port/part.ts'
import { notify } from '../../platform/database/open-database.ts'
import { volume } from './tables.ts'
import { tell, VOLUME_CHANNEL, type VolumeRow } from './volume-states.ts'
import { judgeUse } from './volume-use.ts'
import type { WorkDeps } from './volume-work.ts'

/** Drivers give up earlier than this by themselves. */
const MEASURE_MS = 60_000
/** How soon a volume is measured again that an instance is writing to, perhaps, and how soon any other one. */
const BUSY_PAUSE_MS = 300_000
const IDLE_PAUSE_MS = 3_600_000
/** What takes long is done seldom: at most this share of the time goes by with counting one volume. */
const TIME_SHARE = 1 / 50
/** Volumes of one engine that a round measures, one after the other. */
const ROUND_ROWS_MAX = 50

/** How full volumes are, looked at now and then by whoever looks after their engine. */
export function createVolumeMeasures(deps: WorkDeps) {
  const { db, clock, log, fleet } = deps

  /** What an engine says of a volume. */
  async function ask(row: VolumeRow): Promise<number | MeasureTrouble> {
    try {
      const engine = fleet.engine(row.engineId)
      if (!engine) return 'failed'
      const use = await answerInTime(offered(engine.volumes).measure(row.id), MEASURE_MS)
      return use?.used_bytes ?? 'too_long'
    } catch (error) {
      log.warn({ err: error, volume: row.id, engine: row.engineId }, 'a volume could not be measured')
      return 'failed'
    }
  }

  function isOfObjects({ engineId }: VolumeRow): boolean {
    const engine = fleet.engine(engineId)
    return engine !== null && lackOf(engine.volumes) === null && offered(engine.volumes).objects !== undefined
  }

  async function measure(row: VolumeRow): Promise<void> {
    const beganMs = performance.now()
    const found = await ask(row)
    const tookMs = performance.now() - beganMs
    const holders = await deps.holders(db, row.userId)
    const isBusy = holders.some(({ volumeId, busy }) => volumeId === row.id && busy)
    // What is let in by S3 meanwhile is known by that it came, and not by what it replaced.
    const pauseMs = Math.max(isBusy || isOfObjects(row) ? BUSY_PAUSE_MS : IDLE_PAUSE_MS, tookMs / TIME_SHARE)
    const at = clock.now()
    const measureDueAt = new Date(at.getTime() + pauseMs)
    await db.transaction(async tx => {
      const [fresh] = await tx
        .select()
        .from(volume)
        .where(and(eq(volume.id, row.id), isNull(volume.deletedAt)))
        .for('update')
      // Somebody else has measured it meanwhile.
      if (!fresh || fresh.measureDueAt > row.measureDueAt) return
      // What nobody can count is no way around the size of what is held to it by counting alone.
      const isUncounted = found === 'too_long' && isOfObjects(row)
      if (typeof found === 'string' && !isUncounted) {
        await tx.update(volume).set({ measureTrouble: found, measureDueAt }).where(eq(volume.id, row.id))
        return
      }
      const judgedBytes = typeof found === 'number' ? found : Number.MAX_SAFE_INTEGER
      const { news, ...judged } = judgeUse({ ...fresh, usedBytes: judgedBytes }, at)
      const measured =
        typeof found === 'number'
          ? { usedBytes: found, measuredAt: at, measureTrouble: null }
          : { measureTrouble: found }
      const [changed] = await tx
        .update(volume)
        .set({ ...judged, ...measured, measureDueAt })
        .where(eq(volume.id, row.id))
        .returning()
      if (news && changed) {
        await tell(tx, deps, changed, { news, at })
        await notify(tx, VOLUME_CHANNEL, row.id)
      }
    })
  }

  async function measureOn(engineId: string, signal: AbortSignal): Promise<void> {
    const isDue = and(
      eq(volume.engineId, engineId),
      inArray(volume.status, ['ready', 'growing']),
      isNull(volume.deletedAt),
      lte(volume.measureDueAt, clock.now()),
    )
    const rows = await db
      .select()
      .from(volume)
      .where(isDue)
      .orderBy(volume.measureDueAt)
      .limit(ROUND_ROWS_MAX)
    for (const row of rows) {
      if (signal.aborted) return
      await measure(row)
    }
  }

  return {
    /**
     * Measures what is due, engines side by side, the volumes of one in turns.
     * @param signal Ends it between two volumes.
     */
    async run(signal: AbortSignal): Promise<void> {
      const served = fleet.engines().filter(({ id }) => fleet.serves(id))
      await Promise.all(served.map(({ id }) => measureOn(id, signal)))
    },
  }
}
