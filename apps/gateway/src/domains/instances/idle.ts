import { eq, inArray, type SQL, sql } from 'drizzle-orm'
import type { Database, Queryable } from '../../platform/database/database.ts'
import type { InstanceRow } from './rows.ts'
import { instance, instanceUse } from './tables.ts'

/** What is not older than this is taken for how it is now; what nobody looked at for longer counts as no idle time. */
const SEEN_MS = 2 * 60_000

/** Whether a machine's processors and GPUs are quiet. */
export interface Load {
  instanceId: string
  isQuiet: boolean
}

/** Of those instances the ones that run, and are to be stopped when they are idle. */
const ruled = (among: SQL) =>
  sql`${instance.idleStopMinutes} is not null and ${instance.desired} = 'running' and ${among}`

/**
 * Notes that somebody is connected to instances, or was a moment ago. What is written is late by as much as the caller
 * saves, which is to be less than the shortest time that an instance may be idle.
 */
export async function noteUsed(db: Database, instanceIds: readonly string[], at: Date): Promise<void> {
  if (instanceIds.length === 0) return
  await db.execute(sql`
    insert into ${instanceUse} (instance_id, used_at)
    select ${instance.id}, ${at.toISOString()}::timestamptz from ${instance}
    where ${ruled(inArray(instance.id, [...instanceIds]))}
    on conflict (instance_id) do update set used_at = greatest(${instanceUse.usedAt}, excluded.used_at)`)
}

/**
 * Notes which machines were found quiet and which busy, in one statement. Say it at least once a minute of each: the time
 * between two looks that are further apart is none in which it was idle.
 */
export async function noteLoad(db: Database, loads: readonly Load[], at: Date): Promise<void> {
  if (loads.length === 0) return
  await db.execute(sql`
    insert into ${instanceUse} (instance_id, quiet_since, seen_at)
    select ${instance.id}, case when looked.quiet then looked.at end, looked.at
    from json_to_recordset(${JSON.stringify(
      loads.map(({ instanceId, isQuiet }) => ({ id: instanceId, quiet: isQuiet, at })),
    )}::json) as looked(id text, quiet boolean, at timestamptz)
    join ${instance} on ${ruled(sql`${instance.id} = looked.id`)}
    on conflict (instance_id) do update set
      seen_at = excluded.seen_at,
      quiet_since = case
        when excluded.quiet_since is null then null
        when ${instanceUse.quietSince} is null then excluded.quiet_since
        when excluded.seen_at - ${instanceUse.seenAt} > make_interval(secs => ${SEEN_MS / 1_000})
          then greatest(${instanceUse.quietSince}, ${instanceUse.usedAt}) + (excluded.seen_at - ${instanceUse.seenAt})
        else ${instanceUse.quietSince}
      end`)
}

/** Since when nobody uses an instance that runs; null where somebody does, or nobody can tell. */
export async function idleSince(
  db: Database,
  { id, readyAt }: Pick<InstanceRow, 'id' | 'readyAt'>,
  now: Date,
): Promise<Date | null> {
  const [use] = await db.select().from(instanceUse).where(eq(instanceUse.instanceId, id))
  if (!use?.quietSince || !use.seenAt || now.getTime() - use.seenAt.getTime() > SEEN_MS) return null
  const moments = [use.quietSince, use.usedAt, readyAt].filter(moment => moment !== null)
  return new Date(Math.max(...moments.map(moment => moment.getTime())))
}

/** Forgets how an instance was used: what was idle before a rule was made does not count to it. */
export async function forgetUse(q: Queryable, instanceId: string): Promise<void> {
  await q.delete(instanceUse).where(eq(instanceUse.instanceId, instanceId))
}
