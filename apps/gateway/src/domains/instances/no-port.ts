import { and, eq, gte } from 'drizzle-orm'
import type { Database } from '../../platform/database/database.ts'
import { addEvent } from './change-status.ts'
import { instance, instanceEvent } from './tables.ts'

/** A port of an instance that nobody can be led to, since all of this computer's are given out. */
export interface LackedPort {
  instanceId: string
  protocol: 'tcp' | 'udp'
  port: number
}

/** Writes down that an instance lacks a port that it was to have: once since it became ready, however often it is asked for. */
export async function noteNoPort(
  db: Database,
  { instanceId, protocol, port }: LackedPort,
  at: Date,
): Promise<void> {
  await db.transaction(async tx => {
    const [row] = await tx.select().from(instance).where(eq(instance.id, instanceId)).for('update')
    if (row?.status !== 'running') return
    const detail = `${port}/${protocol}`
    const [told] = await tx
      .select({ id: instanceEvent.id })
      .from(instanceEvent)
      .where(
        and(
          eq(instanceEvent.instanceId, instanceId),
          eq(instanceEvent.code, 'ports_used_up'),
          eq(instanceEvent.detail, detail),
          gte(instanceEvent.at, row.readyAt ?? new Date(0)),
        ),
      )
      .limit(1)
    if (!told) await addEvent(tx, row, { at, code: 'ports_used_up', detail })
  })
}
