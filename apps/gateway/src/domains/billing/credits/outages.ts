import { and, desc, eq, sql } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Catalogue } from '../../../platform/config/catalogue.ts'
import type { Queryable, Transaction } from '../../../platform/database/database.ts'
import type { Ids } from '../../../platform/ids.ts'
import { grantCredit } from './grants.ts'
import { creditGrant, outageCredit } from './tables.ts'

/** A time in which a customer's instance was out by the platform's fault. */
export interface Outage {
  userId: string
  instance: { id: string; name: string }
  since: Date
  until: Date
  /** What the machine costs in an hour, in micro-units of the wallet's currency. */
  microPerHour: bigint
}

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

/**
 * What is credited for an outage (B17): nothing up to the limit of the catalogue; beyond it the part of what the machine
 * costs that the catalogue names, of all of the outage but of no more hours than it names. Rounded down.
 * @returns Micro-units.
 */
export function outageMicro(
  { since, until, microPerHour }: Pick<Outage, 'since' | 'until' | 'microPerHour'>,
  sla: Catalogue['sla'],
): bigint {
  const outMs = until.getTime() - since.getTime()
  if (!sla || outMs <= sla.after_minutes * MINUTE_MS) return 0n
  const countedMs = Math.min(outMs, sla.hours_max * HOUR_MS)
  return (BigInt(countedMs) * microPerHour * BigInt(sla.percent)) / (BigInt(HOUR_MS) * 100n)
}

/**
 * Credits an outage up to now, where it was longer than the catalogue's limit (B17), with what was credited for a part of
 * it taken off. Call it in the transaction in which it ends, and under the wallet's lock; the instance's events of that
 * time are the receipt.
 */
export async function creditOutage(
  tx: Transaction,
  deps: { clock: Clock; ids: Ids; sla: Catalogue['sla'] },
  outage: Outage,
): Promise<void> {
  const { userId, instance, since, until } = outage
  const amountMicro = outageMicro(outage, deps.sla) - (await creditedMicro(tx, outage))
  if (amountMicro <= 0n) return
  const id = deps.ids.uuid()
  await grantCredit(tx, deps, { id, userId, amountMicro, kind: 'sla', reason: 'outage' })
  await tx.insert(outageCredit).values({
    grantId: id,
    instanceId: instance.id,
    instanceName: instance.name,
    startedAt: since,
    endedAt: until,
  })
}

/** What was credited for an outage while it lasted. */
async function creditedMicro(tx: Transaction, { instance, since }: Outage): Promise<bigint> {
  const [credited] = await tx
    .select({ micro: sql<bigint>`coalesce(sum(${creditGrant.amountMicro}), 0)`.mapWith(BigInt) })
    .from(outageCredit)
    .innerJoin(creditGrant, eq(creditGrant.id, outageCredit.grantId))
    .where(and(eq(outageCredit.instanceId, instance.id), eq(outageCredit.startedAt, since)))
  return credited?.micro ?? 0n
}

/** Until when an outage that began then was credited; null where nothing was. */
export async function outageCreditedUntil(
  q: Pick<Queryable, 'select'>,
  { instanceId, since }: { instanceId: string; since: Date },
): Promise<Date | null> {
  const [last] = await q
    .select({ until: outageCredit.endedAt })
    .from(outageCredit)
    .where(and(eq(outageCredit.instanceId, instanceId), eq(outageCredit.startedAt, since)))
    .orderBy(desc(outageCredit.endedAt))
    .limit(1)
  return last?.until ?? null
}
