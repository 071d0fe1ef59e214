import { and, eq, inArray, isNull } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { ComputeDriver } from '../../drivers/compute/port.ts'
import type { Database } from '../../platform/database/database.ts'
import { withDeadline } from './deadline.ts'
import { IDS_MAX, type ReconcileLimits } from './limits.ts'
import type { Pairing } from './pairing.ts'
import { instance } from './tables.ts'

/** Statuses in which a running machine is wrong, as far as the row goes. */
const AT_REST: ReadonlySet<string> = new Set(['stopped', 'exited', 'error'])

export interface Sweep {
  /**
   * Removes machines that belong to no live row, unless they are another database's, and gives the ids of rows whose machine is not as the row says.
   * Every part of it may be done twice, so that replicas need no lease for it.
   */
  run(): Promise<string[]>
  /** Ids of the instances that were running when they were last heard of. */
  runningRows(): Promise<string[]>
}

/** Compares all machines with all rows. */
export function createSweep(deps: {
  db: Database
  log: Logger
  compute: ComputeDriver | null
  pairing: Pick<Pairing, 'isOurs'>
  limits: ReconcileLimits
}): Sweep {
  const { db, log, compute, pairing, limits } = deps

  const never = new AbortController().signal

  async function removeOrphan(driver: ComputeDriver, id: string): Promise<void> {
    const deadline = { deadlineMs: limits.step_ms.remove, superseded: never, graceMs: 0 }
    try {
      await withDeadline(deadline, signal => driver.remove(id, signal))
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
    async run() {
      if (!compute) return []
      // Machines first, then rows: a row is there before its machine is made, so that a machine which has none
      // by now never had one that lives.
      const deadline = { deadlineMs: limits.step_ms.status, superseded: never, graceMs: 0 }
      const machines = await withDeadline(deadline, () => compute.list())
      const statuses = await statusOf(machines.map(({ id }) => id))
      const orphans = (await pairing.isOurs()) ? machines.filter(({ id }) => !statuses.has(id)) : []
      await Promise.all(orphans.map(({ id }) => removeOrphan(compute, id)))
      return machines
        .filter(({ id, state }) => {
          const status = statuses.get(id)
          if (status === undefined) return false
          return state === 'running' ? AT_REST.has(status) : status === 'running'
        })
        .map(({ id }) => id)
    },
    async runningRows() {
      const rows = await db
        .select({ id: instance.id })
        .from(instance)
        .where(and(eq(instance.status, 'running'), isNull(instance.terminatedAt)))
      return rows.map(({ id }) => id)
    },
  }
}
