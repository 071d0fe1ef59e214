import { and, eq, inArray, isNull } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { Clock } from '../../../platform/clock.ts'
import type { Database } from '../../../platform/database/database.ts'
import type { Billing } from '../../billing/billing.ts'
import type { PublicIps } from '../../public-ips/public-ips.ts'
import type { Stock } from '../../regions/regions.ts'
import { changeStatus, noteMayRun } from '../change-status.ts'
import { PROGRESS } from '../rows.ts'
import { instance } from '../tables.ts'

interface ShutdownDeps {
  db: Database
  clock: Clock
  log: Logger
  billing: Billing
  stock: Stock
  publicIps: PublicIps
}

/**
 * Writes down that the gateway itself stopped these machines as it ended: they are not charged from here on, and
 * the next start brings them back.
 * @param ids What the compute driver's `shutdown` returned.
 */
export async function noteShutdown(deps: ShutdownDeps, ids: string[]): Promise<void> {
  if (ids.length === 0) return
  const { db, log } = deps
  const rows = await db
    .select({ id: instance.id, userId: instance.userId })
    .from(instance)
    .where(and(inArray(instance.id, ids), eq(instance.desired, 'running'), isNull(instance.terminatedAt)))
  for (const row of rows) {
    try {
      await noteOne(deps, row)
    } catch (error) {
      // Found dead by the next start, which ends its charge where it was last seen.
      log.warn({ err: error, instance: row.id }, 'the end of a machine could not be written down')
    }
  }
}

async function noteOne(
  { db, clock, billing, stock, publicIps }: ShutdownDeps,
  { id, userId }: { id: string; userId: string },
): Promise<void> {
  await db.transaction(async tx => {
    await billing.lockWallet(tx, userId)
    const [row] = await tx
      .select()
      .from(instance)
      .where(and(eq(instance.id, id), isNull(instance.terminatedAt)))
      .for('update')
    if (row?.desired !== 'running') return
    const at = clock.now()
    if (row.status !== 'running') {
      // A start that was under way goes on where its machine can be started again.
      await noteMayRun(tx, { billing }, row, { mayRun: false, at, patch: { progress: PROGRESS.booting } })
      return
    }
    await changeStatus(tx, { billing, stock, publicIps }, row, {
      status: 'restarting',
      at,
      event: { code: 'gateway_stopped' },
      reason: { code: 'gateway_restarted', detail: '' },
      patch: { mayRun: false, progress: PROGRESS.booting },
    })
  })
}
