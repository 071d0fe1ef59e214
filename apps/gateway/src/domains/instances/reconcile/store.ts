import { and, asc, eq, gt, inArray, isNull, lte, min, ne, notInArray, or, type SQL } from 'drizzle-orm'
import { unionAll } from 'drizzle-orm/pg-core'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import type { Billing } from '../../billing/billing.ts'
import type { FailureCode } from '../codes.ts'
import type { InstanceRow, Progress } from '../rows.ts'
import { instance } from '../tables.ts'
import { createCustomerTurns } from './customer-turns.ts'
import type { PassedOver, Shared } from './fair-shares.ts'
import { createRests } from './rests.ts'

/**
 * What a reconciler writes: each write names its lease and the version that it was decided on, so that of two
 * reconcilers, or of one and a customer, the late one changes nothing.
 */
export interface Store {
  /** Rows that could be claimed, those first that have waited longest; those under others' leases are not among them. */
  find(wanted: Wanted): Promise<Shared[]>
  /** Takes the lease of those of the rows that can still be claimed. */
  claim(wanted: Claim): Promise<InstanceRow[]>
  /** When the first of the rows that could be claimed is due, now or later; null where none is. */
  dueAt(now: Date, not: string[]): Promise<Date | null>
  /** Prolongs our leases. Returns the versions of the rows that are still ours. */
  renew(rowIds: string[], leaseUntil: Date): Promise<Map<string, number>>
  /** The row while it is still ours. */
  reread(id: string): Promise<InstanceRow | null>
  version(id: string): Promise<number | null>
  /** Gives the lease back until the next look is due. False when the row has changed meanwhile. */
  rest(row: InstanceRow, until: Date, seen?: { observedAt: Date }): Promise<boolean>
  releaseAll(): Promise<void>
  /** Notes where a start is. Null when the row has changed meanwhile. */
  note(row: InstanceRow, patch: NotePatch): Promise<InstanceRow | null>
  /** Notes that a try of the current step failed. Null when the row has changed meanwhile. */
  noteFailure(row: InstanceRow, failure: Failure): Promise<InstanceRow | null>
  /** Runs a change under both locks, if the row is still ours and as it was. */
  withLocks<T>(row: InstanceRow, run: (tx: Transaction, row: InstanceRow) => Promise<T>): Promise<T | null>
}

type NotePatch = Partial<
  Pick<InstanceRow, 'firstRanAt' | 'volumeChanged' | 'attempts' | 'failureCode' | 'failureDetail'>
> & {
  progress?: Progress
}

export interface Wanted {
  limit: number
  now: Date
  /** Rows that this process works on already. */
  not: string[]
  passOver: PassedOver
  /** Of these rows alone, though their next look be not due yet; left out: all that are due. */
  only?: string[]
}

export interface Claim {
  ids: string[]
  now: Date
  leaseUntil: Date
  /** Also rows whose next look is not due yet. */
  early: boolean
}

export interface Failure {
  code: FailureCode
  detail: string
  retryAt: Date
}

/**
 * @param deps `owner` names the reconciler whose leases these are; `servedElsewhere` engines that others look after.
 */
export function createStore(deps: {
  db: Database
  billing: Pick<Billing, 'lockWallet'>
  owner: string
  servedElsewhere(): string[]
}): Store {
  const { db, billing, owner, servedElsewhere } = deps
  const ours = (row: InstanceRow): SQL | undefined =>
    and(eq(instance.id, row.id), eq(instance.version, row.version), eq(instance.leaseOwner, owner))

  const rest = createRests(db, owner)
  const inTurn = createCustomerTurns()

  async function update(row: InstanceRow, set: Partial<InstanceRow>): Promise<InstanceRow | null> {
    const [changed] = await db.update(instance).set(set).where(ours(row)).returning()
    return changed ?? null
  }

  /**
   * Rows of engines that this gateway looks after, and of those that nobody does: their machines cannot be seen, so
   * that they become `unknown` and stop being charged, or what was asked of them is given up.
   */
  function notElsewhere(): SQL | undefined {
    const elsewhere = servedElsewhere()
    if (elsewhere.length === 0) return undefined
    return or(isNull(instance.engineId), notInArray(instance.engineId, elsewhere))
  }

  /** A lease of our own that we do not work under is left over from an error. */
  function free(now: Date): SQL | undefined {
    return or(isNull(instance.leaseUntil), lte(instance.leaseUntil, now), eq(instance.leaseOwner, owner))
  }

  return {
    async find({ limit, now, not, passOver, only }) {
      const { userIds, engineIds, pullsOf } = passOver
      const rows = await db
        .select({
          id: instance.id,
          userId: instance.userId,
          engineId: instance.engineId,
          status: instance.status,
        })
        .from(instance)
        .where(
          and(
            isNull(instance.terminatedAt),
            notElsewhere(),
            only ? inArray(instance.id, only) : lte(instance.nextAttemptAt, now),
            free(now),
            not.length > 0 ? notInArray(instance.id, not) : undefined,
            userIds.length > 0 ? notInArray(instance.userId, userIds) : undefined,
            engineIds.length > 0
              ? or(isNull(instance.engineId), notInArray(instance.engineId, engineIds))
              : undefined,
            pullsOf === 'all' ? ne(instance.status, 'pulling') : undefined,
            pullsOf !== 'all' && pullsOf.length > 0
              ? or(ne(instance.status, 'pulling'), notInArray(instance.userId, pullsOf))
              : undefined,
          ),
        )
        .orderBy(asc(instance.nextAttemptAt))
        .limit(limit)
      return rows.map(({ status, ...row }) => ({ ...row, isPull: status === 'pulling' }))
    },
    claim({ ids, now, leaseUntil, early }) {
      const claimable = db
        .select({ id: instance.id })
        .from(instance)
        .where(
          and(
            inArray(instance.id, ids),
            isNull(instance.terminatedAt),
            notElsewhere(),
            early ? undefined : lte(instance.nextAttemptAt, now),
            free(now),
          ),
        )
        .for('update', { skipLocked: true })
      return db
        .update(instance)
        .set({ leaseOwner: owner, leaseUntil })
        .where(inArray(instance.id, claimable))
        .returning()
    },
    async dueAt(now, not) {
      const live = and(isNull(instance.terminatedAt), notElsewhere())
      const first = db
        .select({ at: instance.nextAttemptAt })
        .from(instance)
        .where(and(live, free(now), not.length > 0 ? notInArray(instance.id, not) : undefined))
        .orderBy(asc(instance.nextAttemptAt))
        .limit(1)
      // Whoever holds a lease may have died: then the row is free from there.
      const firstFree = db
        .select({ at: min(instance.leaseUntil) })
        .from(instance)
        .where(and(live, ne(instance.leaseOwner, owner), gt(instance.leaseUntil, now)))
      const found = await unionAll(firstFree, first)
      const [at = null] = found.flatMap(row => row.at ?? []).sort((one, other) => Number(one) - Number(other))
      return at
    },
    async renew(rowIds, leaseUntil) {
      const rows = await db
        .update(instance)
        .set({ leaseUntil })
        .where(inArray(instance.id, leasedRows(db, owner, rowIds)))
        .returning({ id: instance.id, version: instance.version })
      return new Map(rows.map(row => [row.id, row.version]))
    },
    async reread(id) {
      const [row] = await db
        .select()
        .from(instance)
        .where(and(eq(instance.id, id), eq(instance.leaseOwner, owner), isNull(instance.terminatedAt)))
      return row ?? null
    },
    async version(id) {
      const [row] = await db.select({ version: instance.version }).from(instance).where(eq(instance.id, id))
      return row?.version ?? null
    },
    async rest(row, until, seen) {
      if (await rest(row, until, seen?.observedAt ?? null)) return true
      // It has changed, or somebody has its lock: whoever waits for it alone learns which.
      const free = { nextAttemptAt: until, leaseOwner: null, leaseUntil: null }
      return (await update(row, { ...free, ...seen })) !== null
    },
    releaseAll: () => releaseRows(db, owner),
    note: update,
    noteFailure: (row, failure) =>
      update(row, {
        attempts: row.attempts + 1,
        failureCode: failure.code,
        failureDetail: failure.detail,
        nextAttemptAt: failure.retryAt,
      }),
    withLocks: (row, run) =>
      inTurn(row.userId, () =>
        db.transaction(async tx => {
          await billing.lockWallet(tx, row.userId)
          const [fresh] = await tx.select().from(instance).where(ours(row)).for('update')
          return fresh ? run(tx, fresh) : null
        }),
      ),
  }
}

/** Gives back every row that a reconciler has under its lease. */
export async function releaseRows(db: Database, owner: string): Promise<void> {
  await db
    .update(instance)
    .set({ leaseOwner: null, leaseUntil: null })
    .where(inArray(instance.id, leasedRows(db, owner)))
}

/** Rows under an owner's lease, locked in the order of ids: two who take several rows must not wait for each other. */
function leasedRows(db: Database, owner: string, only?: string[]) {
  return db
    .select({ id: instance.id })
    .from(instance)
    .where(and(only ? inArray(instance.id, only) : undefined, eq(instance.leaseOwner, owner)))
    .orderBy(asc(instance.id))
    .for('update')
}
