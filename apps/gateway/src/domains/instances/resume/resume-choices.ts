import { instanceCan } from '@berth/contract/instance-states'
import { RESUME_LISTED_MAX } from '@berth/contract/limits'
import { centsCeil, centsFloor } from '@berth/contract/money'
import { type Resume, resume, stoppedUnpaid } from '@berth/contract/resume'
import { and, asc, count, eq, isNotNull, isNull, ne, sql } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Database, Queryable, Transaction } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { wireOf } from '../../../platform/http/wire.ts'
import type { Billing } from '../../billing/billing.ts'
import { forCustomer } from '../../customers/customers.ts'
import type { Quotes } from '../offer/quotes.ts'
import { type InstanceRow, shownStatus } from '../rows.ts'
import { instance, resumeDefault } from '../tables.ts'
import { atOnceMicro, isGivenUp, isToResume } from './resume-rules.ts'

interface ChoiceDeps {
  db: Database
  clock: Clock
  billing: Pick<Billing, 'lockWallet' | 'totals'>
  quotes: Pick<Quotes, 'rates' | 'term'>
}

const resumeOf = wireOf(resume)
const stoppedOf = wireOf(stoppedUnpaid)
/** In one snapshot, so that what is covered fits what is available. */
const SNAPSHOT = { isolationLevel: 'repeatable read', accessMode: 'read only' } as const

const isLive = (userId: string) => and(eq(instance.userId, userId), isNull(instance.terminatedAt))
const isEmptied = (userId: string) =>
  and(isLive(userId), isNotNull(instance.emptiedAt), eq(instance.desired, 'stopped'))

/**
 * What of a customer's instances stopped for an empty balance, what of it the balance covers, and what starts again by
 * itself (B4). @throws ApiError `not_found` without a wallet.
 */
export function readResume(deps: ChoiceDeps, userId: string): Promise<Resume> {
  return deps.db.transaction(tx => resumeIn(tx, deps, userId), SNAPSHOT)
}

/**
 * Says whether instances that are deployed from now on start again by themselves, and with `all` the same of those that
 * are there. @returns As `readResume`.
 * @throws ApiError `login_expired` for a deleted account.
 */
export function saveResume(
  deps: ChoiceDeps,
  userId: string,
  wanted: { byDefault: boolean; all: boolean },
): Promise<Resume> {
  const { byDefault: isOn, all } = wanted
  return deps.db.transaction(async tx => {
    await forCustomer(tx, userId)
    await deps.billing.lockWallet(tx, userId)
    await tx
      .insert(resumeDefault)
      .values({ userId, isOn })
      .onConflictDoUpdate({ target: resumeDefault.userId, set: { isOn } })
    if (all) {
      await tx
        .update(instance)
        .set({ resumeAfterTopup: isOn })
        .where(and(isLive(userId), ne(instance.resumeAfterTopup, isOn)))
    }
    return await resumeIn(tx, deps, userId)
  })
}

/** Whether a customer's instances start again by themselves unless something else is said of one. */
export async function resumesByDefault(q: Pick<Queryable, 'select'>, userId: string): Promise<boolean> {
  const [row] = await q.select().from(resumeDefault).where(eq(resumeDefault.userId, userId))
  return row?.isOn ?? false
}

/** Forgets what a customer said whose account is deleted. */
export async function forgetDefault(tx: Transaction, userId: string): Promise<void> {
  await tx.delete(resumeDefault).where(eq(resumeDefault.userId, userId))
}

/** What mails say of instances that stopped for an empty balance, those that stopped first before others. */
export async function stoppedUnpaidOf(
  q: Queryable,
  { clock }: Pick<ChoiceDeps, 'clock'>,
  userId: string,
): Promise<{ name: string; resumes: boolean }[]> {
  const rows = await readStopped(q, userId)
  return rows.map(row => ({ name: row.name, resumes: isToResume(row, clock.now()) }))
}

async function resumeIn(tx: Transaction, deps: ChoiceDeps, userId: string): Promise<Resume> {
  const now = deps.clock.now()
  const { availableMicro, currency } = await deps.billing.totals(tx, userId)
  const [all] = await tx
    .select({
      instances: count(),
      asked: sql<number>`count(*) filter (where ${instance.resumeAfterTopup})::int`,
      stopped: sql<number>`count(*) filter (where ${isEmptied(userId)})::int`,
    })
    .from(instance)
    .where(isLive(userId))
  let leftMicro = availableMicro
  const stopped = (await readStopped(tx, userId)).map(row => {
    const neededMicro = neededOf(deps.quotes, row)
    const covered = neededMicro !== null && neededMicro <= leftMicro
    if (covered) leftMicro -= neededMicro
    const { resumeTry } = row
    return stoppedOf({
      ...row,
      instanceId: row.id,
      gpuSpecName: row.spec.name,
      emptiedAt: row.emptiedAt ?? now,
      resumes: isToResume(row, now) && !isGivenUp(row),
      reserveCents: neededMicro === null ? null : centsCeil(neededMicro),
      covered,
      ready: instanceCan('start', { kind: row.kind, status: shownStatus(row) }),
      failure: resumeTry?.failure ?? null,
      nextTryAt: resumeTry?.next_at ? new Date(resumeTry.next_at) : null,
    })
  })
  return resumeOf({
    currency,
    byDefault: await resumesByDefault(tx, userId),
    asked: all?.asked ?? 0,
    instances: all?.instances ?? 0,
    available: centsFloor(availableMicro),
    stopped,
    stoppedCount: all?.stopped ?? 0,
  })
}

/** Those that stopped, in the order of that. */
function readStopped(q: Queryable, userId: string): Promise<InstanceRow[]> {
  return q
    .select()
    .from(instance)
    .where(isEmptied(userId))
    .orderBy(asc(instance.emptiedAt), asc(instance.id))
    .limit(RESUME_LISTED_MAX)
}

/** What starting it sets aside; null where its machine is not offered any more. */
function neededOf(quotes: ChoiceDeps['quotes'], row: InstanceRow): bigint | null {
  try {
    return atOnceMicro(quotes, row)
  } catch (error) {
    if (error instanceof ApiError) return null
    throw error
  }
}
