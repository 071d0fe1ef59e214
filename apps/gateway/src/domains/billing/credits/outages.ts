import type { Clock } from '../../../platform/clock.ts'
import type { Catalogue } from '../../../platform/config/catalogue.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import type { Ids } from '../../../platform/ids.ts'
import { grantCredit } from './grants.ts'
import { outageCredit } from './tables.ts'

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
 * Credits an outage that is over, where it was longer than the catalogue's limit (B17). Call it once for each, in the
 * transaction in which it ends; the instance's events of that time are the receipt.
 */
export async function creditOutage(
  tx: Transaction,
  deps: { clock: Clock; ids: Ids; sla: Catalogue['sla'] },
  outage: Outage,
): Promise<void> {
  const amountMicro = outageMicro(outage, deps.sla)
  if (amountMicro === 0n) return
  const { userId, instance, since, until } = outage
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
