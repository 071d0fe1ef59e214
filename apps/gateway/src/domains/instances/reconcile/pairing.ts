import { and, count, eq, inArray, isNull, or } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { Engine } from '../../../drivers/compute/port/engine.ts'
import { lackOf, offered } from '../../../drivers/compute/port/part.ts'
import type { Database } from '../../../platform/database/database.ts'
import type { Fleet } from '../../fleet/fleet.ts'
import type { Stock } from '../../regions/regions.ts'
import type { Volumes } from '../../volumes/volumes.ts'
import { instanceOfOwnVolume } from '../own-disk.ts'
import { instance } from '../tables.ts'
import { withDeadline } from './deadline.ts'
import { IDS_MAX, type ReconcileLimits } from './limits.ts'

export interface Pairing {
  /**
   * Whether an engine's machines are those of this database, so that one without a row may be removed. Decided once
   * in a run for each engine, as soon as engine and database answer.
   * @throws What the engine or the database throws; it is asked again then.
   */
  isOurs(engine: Engine): Promise<boolean>
  /** How many machines and volumes belong to another database, as far as that is decided; 0 where all are ours. */
  foreign(): number
  /**
   * Gives an engine the rows of the version before: those whose machines are there, which it called `formerId`, and
   * those that had none yet; and what they hold of the stock.
   */
  adopt(engineId: string, formerId: string): Promise<void>
}

/**
 * Tells whether an engine and a database belong together. Someone may pair an engine whose machines and volumes hold
 * customers' homes with another or an emptied database, for which all of them would be orphans. They are ours when the
 * database has served this engine before, when there are none, or when it knows every one of them.
 */
export function createPairing(deps: {
  db: Database
  log: Logger
  fleet: Pick<Fleet, 'isPaired' | 'pair'>
  stock: Pick<Stock, 'adopt'>
  volumes: Pick<Volumes, 'countRows'>
  limits: ReconcileLimits
}): Pairing {
  const { db, log, fleet, stock, volumes, limits } = deps
  const foreign = new Map<string, number>()

  async function decide(engine: Engine): Promise<number> {
    if (await fleet.isPaired(engine.id)) return 0
    const deadline = {
      deadlineMs: limits.stepMs.status,
      superseded: new AbortController().signal,
      graceMs: 0,
    }
    const machines = await withDeadline(deadline, () => engine.machines.list())
    const stored =
      lackOf(engine.volumes) === null
        ? await withDeadline(deadline, () => offered(engine.volumes).list())
        : []
    const disks = stored.flatMap(id => instanceOfOwnVolume(id) ?? [])
    const kept = stored.filter(id => instanceOfOwnVolume(id) === null)
    const [ours, ourDisks, ourVolumes] = [
      await rowsOf(machines.map(({ id }) => id)),
      await rowsOf(disks),
      await inParts(kept, some => volumes.countRows(some)),
    ]
    const strangers = machines.length + stored.length - ours - ourDisks - ourVolumes
    if (strangers > 0) {
      log.error(
        { machines: machines.length, volumes: stored.length, foreign: strangers, engine: engine.id },
        'machines or volumes of this engine belong to another database: none is removed as nobody’s in this run',
      )
      return strangers
    }
    await fleet.pair(engine.id)
    return 0
  }

  /** How many of the ids belong to instances, also to those that were terminated. */
  const rowsOf = (ids: string[]) =>
    inParts(ids, async some => {
      const [found] = await db.select({ rows: count() }).from(instance).where(inArray(instance.id, some))
      return found?.rows ?? 0
    })

  /** Not more ids at a time than a statement should name. */
  async function inParts(ids: string[], countSome: (ids: string[]) => Promise<number>): Promise<number> {
    let sum = 0
    for (let from = 0; from < ids.length; from += IDS_MAX) {
      sum += await countSome(ids.slice(from, from + IDS_MAX))
    }
    return sum
  }

  return {
    async isOurs(engine) {
      const known = foreign.get(engine.id) ?? (await decide(engine))
      foreign.set(engine.id, known)
      return known === 0
    },
    foreign: () => [...foreign.values()].reduce((sum, one) => sum + one, 0),
    async adopt(engineId, formerId) {
      const were = or(eq(instance.engineId, formerId), isNull(instance.engineId))
      await db.transaction(async tx => {
        await tx
          .update(instance)
          .set({ engineId })
          .where(and(isNull(instance.terminatedAt), were))
        await stock.adopt(tx, engineId, formerId)
      })
    },
  }
}
