import { UNPAID_PUBLIC_IP_KEPT_DAYS, UNPAID_PUBLIC_IP_NOTICE_DAYS } from '@berth/contract/limits'
import { and, asc, eq, gt, inArray, isNull, sql } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { Clock } from '../../../platform/clock.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import { notify } from '../../../platform/database/open-database.ts'
import type { Events } from '../../../platform/events/events.ts'
import { deletedOn, unpaidStep } from '../../../platform/unpaid.ts'
import type { Billing } from '../../billing/billing.ts'
import type { BoundIp, PublicIps } from '../../public-ips/public-ips.ts'
import { addEvent, INSTANCE_CHANNEL, instanceSubject } from '../change-status.ts'
import { addressNews, deletionNews } from '../events.ts'
import { leave, publicIpSubject } from '../public-ip/follow.ts'
import type { InstanceRow } from '../rows.ts'
import { instance } from '../tables.ts'
import { inTerm } from '../terms/term-rules.ts'
import { keptFrom } from './deletion-rules.ts'

export interface UnpaidDeps {
  db: Database
  clock: Clock
  log: Pick<Logger, 'error'>
  billing: Pick<Billing, 'lockWallet' | 'isUnpaid' | 'closeMeters' | 'openMeters' | 'releaseHold'>
  publicIps: Pick<PublicIps, 'boundTo' | 'giveBack' | 'noteCost' | 'costing' | 'noteUnpaid'>
  events: Pick<Events, 'emit'>
}

/** Rows that are read at once; a page keeps the memory bounded whatever their number. */
const PAGE = 200
const ADDRESSES = { keptDays: UNPAID_PUBLIC_IP_KEPT_DAYS, noticeDays: UNPAID_PUBLIC_IP_NOTICE_DAYS }

/**
 * Looks at what goes on costing though its customer's balance is empty (B4): disks of stopped virtual machines, and
 * addresses. Nothing is deleted at once: it is told with its date, told again before that, and kept where money comes.
 * The reconciler deletes virtual machines, as it does pods; an address is given back here. Each is looked at in a
 * transaction of its own, which decides under the wallet's lock, so that any number of looks may run at once.
 */
export function createUnpaidLook(deps: UnpaidDeps): (signal?: AbortSignal) => Promise<void> {
  const { db, clock, billing, publicIps, events, log } = deps

  async function machines(after: string | null): Promise<InstanceRow[]> {
    return db
      .select()
      .from(instance)
      .where(
        and(
          eq(instance.kind, 'VM'),
          inArray(instance.status, ['stopped', 'exited']),
          eq(instance.desired, 'stopped'),
          isNull(instance.terminatedAt),
          after === null ? undefined : gt(instance.id, after),
        ),
      )
      .orderBy(asc(instance.id))
      .limit(PAGE)
  }

  async function lookAtMachine(row: InstanceRow): Promise<void> {
    const of = { userId: row.userId, subject: instanceSubject(row.id) }
    // The locks are for those of which something is to be noted.
    if (inTerm(row) || (await billing.isUnpaid(db, of)) === (row.unpaidSince !== null)) return
    await db.transaction(async tx => {
      await billing.lockWallet(tx, row.userId)
      const fresh = await lockedRow(tx, row)
      if (!fresh || inTerm(fresh) || fresh.version !== row.version) return
      const isUnpaid = await billing.isUnpaid(tx, of)
      if (!isUnpaid) {
        if (fresh.unpaidSince !== null) await notePaid(tx, fresh)
        return
      }
      if (fresh.unpaidSince !== null) return
      const at = clock.now()
      const keptUntil = keptFrom(at).toISOString()
      await tx
        .update(instance)
        .set({ unpaidSince: at, nextAttemptAt: at, version: sql`${instance.version} + 1` })
        .where(eq(instance.id, row.id))
      await addEvent(tx, fresh, { at, code: 'deletion_announced_unpaid', detail: keptUntil })
      await events.emit(tx, deletionNews, {
        ...{ userId: row.userId, at: at.toISOString(), outcome: 'will_delete_unpaid', keptUntil },
        instance: { id: row.id, name: fresh.name },
        stoppedAt: (fresh.stoppedAt ?? at).toISOString(),
      })
      await notify(tx, INSTANCE_CHANNEL, row.id)
    })
  }

  async function lookAtAddress(bound: BoundIp): Promise<void> {
    const of = { userId: bound.userId, subject: publicIpSubject(bound.id) }
    if (bound.unpaidSince === null && !(await billing.isUnpaid(db, of))) return
    await db.transaction(async tx => {
      await billing.lockWallet(tx, bound.userId)
      const row = await lockedRow(tx, { id: bound.instanceId })
      const fresh = row && (await publicIps.boundTo(tx, row.id))
      if (!row || fresh?.id !== bound.id) return
      const at = clock.now()
      const isUnpaid = await billing.isUnpaid(tx, of)
      const tell = (news: 'unpaid' | 'unpaid_soon' | 'given_back_unpaid', until: Date) =>
        events.emit(tx, addressNews, {
          ...{ userId: row.userId, at: at.toISOString(), news, until: until.toISOString() },
          ...{ address: fresh.address, addressId: fresh.id, instance: { id: row.id, name: row.name } },
        })
      if (fresh.unpaidSince === null) {
        if (!isUnpaid) return
        await publicIps.noteUnpaid(tx, row.id, { unpaidSince: at })
        await addEvent(tx, row, { at, code: 'public_ip_unpaid', detail: fresh.address })
        await tell('unpaid', deletedOn({ unpaidSince: at }, ADDRESSES) ?? at)
        return
      }
      const step = unpaidStep(fresh, ADDRESSES, { now: at, isUnpaid })
      if (step === 'none') return
      if (step === 'paid') {
        await publicIps.noteUnpaid(tx, row.id, { unpaidSince: null, unpaidNoticeDay: null })
      } else if (step === 'delete') {
        await leave(tx, deps, fresh, at)
        await addEvent(tx, row, { at, code: 'public_ip_given_back', detail: fresh.address })
        await notify(tx, INSTANCE_CHANNEL, row.id)
        await tell('given_back_unpaid', at)
      } else {
        await publicIps.noteUnpaid(tx, row.id, { unpaidNoticeDay: step.tellDay })
        await tell('unpaid_soon', deletedOn(fresh, ADDRESSES) ?? at)
      }
    })
  }

  /** All of them, a page at a time; one that fails is logged, and looked at again the next time. */
  async function each<Row>(
    read: (after: string | null) => Promise<Row[]>,
    keyOf: (row: Row) => string,
    look: (row: Row) => Promise<void>,
    signal?: AbortSignal,
  ): Promise<void> {
    for (let after: string | null = null; ; ) {
      const page: Row[] = await read(after)
      for (const row of page) {
        if (signal?.aborted) return
        try {
          await look(row)
        } catch (error) {
          log.error({ err: error, id: keyOf(row) }, 'what is not paid for could not be looked at')
        }
      }
      const last = page.at(-1)
      if (last === undefined || page.length < PAGE) return
      after = keyOf(last)
    }
  }

  return async signal => {
    await each(machines, ({ id }) => id, lookAtMachine, signal)
    await each(
      after => publicIps.costing(after, PAGE),
      ({ address }) => address,
      lookAtAddress,
      signal,
    )
  }
}

async function lockedRow(tx: Transaction, { id }: Pick<InstanceRow, 'id'>): Promise<InstanceRow | null> {
  const [row] = await tx.select().from(instance).where(eq(instance.id, id)).for('update')
  return row ?? null
}

/** A virtual machine is paid for again: nothing is to be deleted. @returns The row as it is now. */
export async function notePaid(
  tx: Transaction,
  { id }: Pick<InstanceRow, 'id'>,
): Promise<InstanceRow | null> {
  const [row] = await tx
    .update(instance)
    .set({
      unpaidSince: null,
      keptUntil: null,
      deletionNoticeDay: null,
      version: sql`${instance.version} + 1`,
    })
    .where(eq(instance.id, id))
    .returning()
  await notify(tx, INSTANCE_CHANNEL, id)
  return row ?? null
}
