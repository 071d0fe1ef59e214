import { and, eq, gt, inArray, isNull } from 'drizzle-orm'
import type { Queryable } from '../../platform/database/database.ts'
import { instance } from './tables.ts'

/** What is to be known of an instance that runs to measure its machine. */
export interface RunningMachine {
  id: string
  engineId: string
  /** Processors that it has. */
  vcpu: number
  /** GPUs that it really has. */
  gpuCount: number
  /** Whether it is to be stopped when it is idle. */
  stopsWhenIdle: boolean
  /** Whether what it sends costs something. */
  paysForTraffic: boolean
}

/** The instances that run on those engines. */
export async function runningOn(q: Queryable, engineIds: readonly string[]): Promise<RunningMachine[]> {
  if (engineIds.length === 0) return []
  const rows = await q
    .select({
      id: instance.id,
      engineId: instance.engineId,
      spec: instance.spec,
      gpuUuids: instance.gpuUuids,
      idleStopMinutes: instance.idleStopMinutes,
      trafficMicroPerGb: instance.trafficMicroPerGb,
    })
    .from(instance)
    .where(
      and(
        inArray(instance.engineId, [...engineIds]),
        eq(instance.status, 'running'),
        isNull(instance.terminatedAt),
      ),
    )
  return rows.flatMap(({ id, engineId, spec, gpuUuids, idleStopMinutes, trafficMicroPerGb }) => {
    const stopsWhenIdle = idleStopMinutes !== null
    const paysForTraffic = trafficMicroPerGb > 0n
    const gpuCount = gpuUuids.length
    return engineId ? [{ id, engineId, vcpu: spec.vcpu, gpuCount, stopsWhenIdle, paysForTraffic }] : []
  })
}

/** Ids of instances that were terminated since then. */
export async function goneSince(q: Queryable, since: Date): Promise<string[]> {
  const rows = await q.select({ id: instance.id }).from(instance).where(gt(instance.terminatedAt, since))
  return rows.map(({ id }) => id)
}

/** Ids of all instances that a customer ever had. */
export async function everOf(q: Queryable, userId: string): Promise<string[]> {
  const rows = await q.select({ id: instance.id }).from(instance).where(eq(instance.userId, userId))
  return rows.map(({ id }) => id)
}
