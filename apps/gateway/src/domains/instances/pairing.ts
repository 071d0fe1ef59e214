import { and, count, eq, inArray } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { ComputeDriver } from '../../drivers/compute/port.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database/database.ts'
import { withDeadline } from './deadline.ts'
import { IDS_MAX, type ReconcileLimits } from './limits.ts'
import { installation, instance } from './tables.ts'

export interface Pairing {
  /**
   * Whether the driver's machines are those of this database, so that one without a row may be removed. Decided
   * once in a run, as soon as driver and database answer.
   * @throws What the driver or the database throws; it is asked again then.
   */
  isOurs(): Promise<boolean>
  /** How many machines belong to another database, as far as that is decided; 0 where all are ours. */
  foreignMachines(): number
}

/**
 * Tells whether a data folder and a database belong together. Someone may pair a folder whose machines hold
 * customers' homes with another or an emptied database, for which all of them would be orphans. They are ours when
 * the database has served this installation before, when there are none, or when it knows every one of them.
 */
export function createPairing(deps: {
  db: Database
  clock: Clock
  log: Logger
  compute: ComputeDriver | null
  installationId: string
  limits: ReconcileLimits
}): Pairing {
  const { db, clock, log, compute, installationId, limits } = deps
  let decided: { ours: boolean; foreign: number } | null = null

  async function decide(): Promise<{ ours: boolean; foreign: number }> {
    if (!compute) return { ours: true, foreign: 0 }
    const known = await db
      .select()
      .from(installation)
      .where(and(eq(installation.id, installationId), eq(installation.driver, compute.name)))
    if (known.length > 0) return { ours: true, foreign: 0 }
    const deadline = {
      deadlineMs: limits.step_ms.status,
      superseded: new AbortController().signal,
      graceMs: 0,
    }
    const machines = await withDeadline(deadline, () => compute.list())
    const foreign = machines.length - (await rowsOf(machines.map(({ id }) => id)))
    if (foreign > 0) {
      log.error(
        { machines: machines.length, foreign, installation: installationId },
        'the machines of this data folder belong to another database: no machine is removed as an orphan in this run',
      )
      return { ours: false, foreign }
    }
    await db
      .insert(installation)
      .values({ id: installationId, driver: compute.name, firstSeenAt: clock.now() })
      .onConflictDoNothing()
    return { ours: true, foreign: 0 }
  }

  /** How many of the ids belong to instances, also to those that were terminated. */
  async function rowsOf(ids: string[]): Promise<number> {
    let rows = 0
    for (let from = 0; from < ids.length; from += IDS_MAX) {
      const [found] = await db
        .select({ rows: count() })
        .from(instance)
        .where(inArray(instance.id, ids.slice(from, from + IDS_MAX)))
      rows += found?.rows ?? 0
    }
    return rows
  }

  return {
    async isOurs() {
      decided ??= await decide()
      return decided.ours
    },
    foreignMachines: () => decided?.foreign ?? 0,
  }
}
