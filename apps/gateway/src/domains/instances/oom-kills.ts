import { and, desc, eq, gte } from 'drizzle-orm'
import type { Database } from '../../platform/database/database.ts'
import { addEvent } from './change-status.ts'
import { instance, instanceEvent } from './tables.ts'

/**
 * Tells that an instance has run out of memory: once for each growth of the count since it became ready, whichever
 * gateways saw it.
 * @param kills How many of its machine's programs were ended for it since the machine started: more than none.
 */
export async function noteOomKills(
  db: Database,
  { instanceId, kills, at }: { instanceId: string; kills: number; at: Date },
): Promise<void> {
  await db.transaction(async tx => {
    const [row] = await tx.select().from(instance).where(eq(instance.id, instanceId)).for('update')
    if (row?.status !== 'running') return
    const [last] = await tx
      .select({ detail: instanceEvent.detail })
      .from(instanceEvent)
      .where(
        and(
          eq(instanceEvent.instanceId, instanceId),
          eq(instanceEvent.code, 'out_of_memory'),
          gte(instanceEvent.at, row.readyAt ?? new Date(0)),
        ),
      )
      .orderBy(desc(instanceEvent.id))
      .limit(1)
    if (!last || Number(last.detail) < kills)
      await addEvent(tx, row, { at, code: 'out_of_memory', detail: String(kills) })
  })
}
