import { asc, eq, gt, sql } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { Clock } from '../../../platform/clock.ts'
import { trafficSku } from '../../../platform/config/skus.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import type { Billing } from '../../billing/billing.ts'
import { instanceSubject } from '../change-status.ts'
import { instance, instanceTraffic } from '../tables.ts'
import { isChargedNow } from './traffic-rules.ts'

/** What a machine's counter of sent bytes stood at. */
export interface TrafficLook {
  instanceId: string
  /** Since its machine started. */
  bytes: number
  at: Date
}

export interface TrafficDeps {
  db: Database
  clock: Clock
  log: Pick<Logger, 'error'>
  billing: Pick<Billing, 'lockWallet' | 'chargeOnce' | 'totals'>
  /** Stops one that cannot pay for what it sends; the caller holds the wallet's lock. */
  stopUnpaid(tx: Transaction, target: { userId: string; instanceId: string }): Promise<string[]>
}

/** Rows that are read at once. */
const PAGE = 200
/** No machine sends more in a second, whatever its counter says: a terabit. */
const BYTES_PER_SECOND_MAX = 125_000_000_000

/**
 * Notes what counters of machines stand at, and what they have grown by since they were noted last: one that went back
 * belongs to a machine that began anew, and counts from zero. The first look at an instance counts nothing. What two
 * gateways note at once counts once, and a look that is older than the last one is left out.
 * @param looks One for each instance.
 */
export async function noteTraffic(db: Database, looks: readonly TrafficLook[]): Promise<void> {
  const known = looks.filter(({ bytes }) => Number.isSafeInteger(bytes) && bytes >= 0)
  if (known.length === 0) return
  const rows = known.map(({ instanceId, bytes, at }) => ({ id: instanceId, bytes, at: at.toISOString() }))
  const counter = sql`excluded.counter_bytes`
  const grown = sql`case when ${counter} >= ${instanceTraffic.counterBytes}
    then ${counter} - ${instanceTraffic.counterBytes} else ${counter} end`
  const most = sql`(extract(epoch from excluded.counter_at - ${instanceTraffic.counterAt}) * ${BYTES_PER_SECOND_MAX})::bigint`
  await db.execute(sql`
    insert into ${instanceTraffic} (instance_id, user_id, counter_bytes, counter_at, sent_bytes, charged_at)
    select i.id, i.user_id, l.bytes, l.at, 0, l.at
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as l (id text, bytes bigint, at timestamptz(3))
    join ${instance} i on i.id = l.id and i.terminated_at is null and i.traffic_micro_per_gb > 0
    order by i.id
    on conflict (instance_id) do update set
      sent_bytes = ${instanceTraffic.sentBytes} + least(${grown}, ${most}),
      counter_bytes = ${counter},
      counter_at = excluded.counter_at
    where excluded.counter_at > ${instanceTraffic.counterAt}`)
}

/**
 * Charges what instances have sent, each in a transaction of its own, so that one that fails holds up no other, and
 * removes what is left of those that are gone.
 * @returns Ids of instances that were stopped, because nothing is left to pay for what they send.
 */
export async function chargeTraffic(deps: TrafficDeps, signal?: AbortSignal): Promise<string[]> {
  const stopped: string[] = []
  let after = ''
  while (!signal?.aborted) {
    const rows = await deps.db
      .select({
        instanceId: instance.id,
        userId: instance.userId,
        bytes: instanceTraffic.sentBytes,
        chargedAt: instanceTraffic.chargedAt,
        microPerGb: instance.trafficMicroPerGb,
        runs: instance.mayRun,
        terminatedAt: instance.terminatedAt,
      })
      .from(instanceTraffic)
      .innerJoin(instance, eq(instance.id, instanceTraffic.instanceId))
      .where(gt(instanceTraffic.instanceId, after))
      .orderBy(asc(instanceTraffic.instanceId))
      .limit(PAGE)
    for (const row of rows) {
      if (signal?.aborted) return stopped
      try {
        if (isChargedNow(row, deps.clock.now())) stopped.push(...(await charge(deps, row)))
        else if (row.terminatedAt) await forget(deps.db, row.instanceId)
      } catch (error) {
        deps.log.error({ err: error, instance: row.instanceId }, 'what an instance sent was not charged')
      }
    }
    const last = rows.at(-1)
    if (!last || rows.length < PAGE) return stopped
    after = last.instanceId
  }
  return stopped
}

/** Charges all that one instance has sent by now, whatever that was when it was looked at. */
async function charge(
  deps: TrafficDeps,
  { userId, instanceId }: { userId: string; instanceId: string },
): Promise<string[]> {
  const { db, billing, clock } = deps
  return db.transaction(async tx => {
    await billing.lockWallet(tx, userId)
    const [row] = await tx.select().from(instance).where(eq(instance.id, instanceId)).for('update')
    const [sent] = await tx
      .select()
      .from(instanceTraffic)
      .where(eq(instanceTraffic.instanceId, instanceId))
      .for('update')
    const now = clock.now()
    if (!row || !sent) return []
    const { trafficMicroPerGb: microPerGb, mayRun: runs, regionCode } = row
    if (!isChargedNow({ bytes: sent.sentBytes, chargedAt: sent.chargedAt, microPerGb, runs }, now)) return []
    await billing.chargeOnce(tx, {
      userId,
      subject: instanceSubject(instanceId),
      name: row.name,
      at: now,
      meters: [
        {
          sku: trafficSku(regionCode),
          label: regionCode,
          unit: 'traffic_gb',
          quantity: sent.sentBytes,
          rateMicro: microPerGb,
        },
      ],
    })
    await tx
      .update(instanceTraffic)
      .set({ sentBytes: 0, chargedAt: now })
      .where(eq(instanceTraffic.instanceId, instanceId))
    const { availableMicro } = await billing.totals(tx, userId)
    return availableMicro > 0n ? [] : deps.stopUnpaid(tx, { userId, instanceId })
  })
}

/** Forgets one that is gone, and what it sent that costs less than a micro-unit. */
async function forget(db: Database, instanceId: string): Promise<void> {
  await db.delete(instanceTraffic).where(eq(instanceTraffic.instanceId, instanceId))
}
