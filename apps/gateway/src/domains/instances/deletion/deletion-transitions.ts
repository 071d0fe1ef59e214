import { eq } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import type { Events } from '../../../platform/events/events.ts'
import type { Billing } from '../../billing/billing.ts'
import type { PublicIps } from '../../public-ips/public-ips.ts'
import type { Stock } from '../../regions/regions.ts'
import { addEvent, instanceSubject } from '../change-status.ts'
import { deletionNews } from '../events.ts'
import type { Store } from '../reconcile/store.ts'
import { beginRemoval } from '../removal.ts'
import type { InstanceRow } from '../rows.ts'
import { instance } from '../tables.ts'
import { deletionStepOf } from './deletion-rules.ts'
import { notePaid } from './unpaid.ts'

interface DeletionDeps {
  clock: Clock
  billing: Billing
  stock: Stock
  publicIps: PublicIps
  store: Pick<Store, 'withLocks'>
  events: Pick<Events, 'emit'>
}

type Outcome = Promise<InstanceRow | null>

/**
 * What becomes of a pod that stays stopped (R9.6), and of a virtual machine that nobody pays for (B4), each in one transaction of the reconciler: null where the row has
 * changed meanwhile. What is no longer due under its lock is not done.
 */
export interface DeletionTransitions {
  /** Tells the customer so many days before, and keeps it for as long at least. */
  announce(row: InstanceRow, day: number): Outcome
  /** It was stopped for too long: it is removed, as its customer would. */
  remove(row: InstanceRow): Outcome
}

export function createDeletionTransitions(deps: DeletionDeps): DeletionTransitions {
  const { clock, billing, stock, publicIps, store, events } = deps

  /** Money that has come meanwhile keeps a virtual machine; a pod is deleted for being stopped, whoever pays for it. */
  const isPaid = async (tx: Transaction, { kind, id, userId }: InstanceRow): Promise<boolean> =>
    kind === 'VM' && !(await billing.isUnpaid(tx, { userId, subject: instanceSubject(id) }))

  return {
    announce: (row, day) =>
      store.withLocks(row, async (tx, fresh) => {
        const at = clock.now()
        const step = deletionStepOf(fresh, at)
        if (step?.kind !== 'announce_deletion' || step.day !== day) return fresh
        if (await isPaid(tx, fresh)) return await notePaid(tx, fresh)
        const { keptUntil } = step
        const [noted] = await tx
          .update(instance)
          .set({ deletionNoticeDay: day, keptUntil })
          .where(eq(instance.id, fresh.id))
          .returning()
        await addEvent(tx, fresh, {
          at,
          code: fresh.kind === 'VM' ? 'deletion_announced_unpaid' : 'deletion_announced',
          detail: keptUntil.toISOString(),
        })
        await events.emit(tx, deletionNews, {
          ...about(fresh, at),
          outcome: fresh.kind === 'VM' ? 'will_delete_unpaid' : 'will_delete',
          keptUntil: keptUntil.toISOString(),
        })
        return noted ?? null
      }),
    remove: row =>
      store.withLocks(row, async (tx, fresh) => {
        const at = clock.now()
        if (deletionStepOf(fresh, at)?.kind !== 'delete_stopped') return fresh
        if (await isPaid(tx, fresh)) return await notePaid(tx, fresh)
        const removed = await beginRemoval(tx, { billing, stock, publicIps }, fresh, {
          at,
          ...(fresh.kind === 'VM'
            ? { event: 'deleted_unpaid', reason: 'unpaid' }
            : { event: 'deleted_when_stopped', reason: 'stopped_too_long' }),
        })
        await events.emit(tx, deletionNews, {
          ...about(fresh, at),
          outcome: fresh.kind === 'VM' ? 'deleted_unpaid' : 'deleted',
          keptUntil: at.toISOString(),
        })
        return removed
      }),
  }
}

function about({ id, name, userId, stoppedAt }: InstanceRow, at: Date) {
  return {
    userId,
    at: at.toISOString(),
    instance: { id, name },
    stoppedAt: (stoppedAt ?? at).toISOString(),
  }
}
