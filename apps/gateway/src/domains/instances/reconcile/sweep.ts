import { and, eq, inArray, isNull, or } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { Engine } from '../../../drivers/compute/port/engine.ts'
import type { Database } from '../../../platform/database/database.ts'
import type { Images } from '../../images/images.ts'
import { instance } from '../tables.ts'
import { withDeadline } from './deadline.ts'
import { IDS_MAX, type ReconcileLimits } from './limits.ts'
import type { Pairing } from './pairing.ts'

/** Statuses in which a running machine is wrong, as far as the row goes. */
const AT_REST: ReadonlySet<string> = new Set(['stopped', 'exited', 'error'])

export interface Sweep {
  /**
   * Removes an engine's machines that belong to no live row, unless they are another database's, and gives the ids of
   * rows whose machine is not as the row says. Every part of it may be done twice.
   */
  run(engine: Engine): Promise<string[]>
  /** Ids of the instances that may have run when they were last heard of, of one engine or of all. */
  runningRows(engineId?: string): Promise<string[]>
}

/** Compares all machines with all rows. */
export function createSweep(deps: {
  db: Database
  log: Logger
  pairing: Pick<Pairing, 'isOurs'>
  limits: ReconcileLimits
  images: Pick<Images, 'buildersAmong'>
}): Sweep {
  const { db, log, pairing, limits, images } = deps

  const never = new AbortController().signal

  async function removeOrphan(driver: Engine, id: string): Promise<void> {
    const deadline = { deadlineMs: limits.stepMs.remove, superseded: never, graceMs: 0 }
    try {
      await withDeadline(deadline, signal => driver.machines.remove(id, signal))
      log.warn({ machine: id }, 'removed a machine that belongs to no instance')
    } catch (error) {
      log.warn({ err: error, machine: id }, 'a machine that belongs to no instance could not be removed')
    }
  }

  async function statusOf(ids: string[]): Promise<Map<string, string>> {
    const found = new Map<string, string>()
    for (let from = 0; from < ids.length; from += IDS_MAX) {
      const rows = await db
        .select({ id: instance.id, status: instance.status })
        .from(instance)
        .where(and(inArray(instance.id, ids.slice(from, from + IDS_MAX)), isNull(instance.terminatedAt)))
      for (const row of rows) found.set(row.id, row.status)
    }
    return found
  }

  return {
    async run(engine) {
      // Machines first, then rows: a row is there before its machine is made, so that a machine which has none
      // by now never had one that lives.
      const deadline = { deadlineMs: limits.stepMs.status, superseded: never, graceMs: 0 }
      const machines = await withDeadline(deadline, () => engine.machines.list())
      const statuses = await statusOf(machines.map(({ id }) => id))
      const strange = machines.map(({ id }) => id).filter(id => !statuses.has(id))
      const builders = await images.buildersAmong(strange)
      const orphans = (await pairing.isOurs(engine)) ? strange.filter(id => !builders.has(id)) : []
      await Promise.all(orphans.map(id => removeOrphan(engine, id)))
      return machines
        .filter(({ id, state }) => {
          const status = statuses.get(id)
          if (status === undefined) return false
          return state === 'running' ? AT_REST.has(status) : status === 'running'
        })
        .map(({ id }) => id)
    },
    async runningRows(engineId) {
      const rows = await db
        .select({ id: instance.id })
        .from(instance)
        .where(
          and(
            or(inArray(instance.status, ['running', 'unknown']), eq(instance.mayRun, true)),
            engineId === undefined ? undefined : eq(instance.engineId, engineId),
            isNull(instance.terminatedAt),
          ),
        )
      return rows.map(({ id }) => id)
    },
  }
}
