import { sql } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Queryable } from '../../../platform/database/database.ts'
import { readTotals } from '../ledger/wallet.ts'
import { dueSql } from '../meters/unposted.ts'

/** Whose spending is asked for, and from when on. */
export interface SpendingOf {
  userId: string
  /** Of that instance alone; null: all that the account spends. */
  instanceId: string | null
  /** A midnight of UTC: what is posted is known by days. */
  since: Date
}

/**
 * What was spent since a midnight of UTC: what the entries say, as receipts and spending by day do, and what is due
 * and not posted yet. Of an account that is what posting would take, so that it is what bills come to say; of an
 * instance what its meters say, as `costMicro` does. Call it in one snapshot, or under the wallet's lock.
 * @returns Micro-units, never negative: what was given back counts on the day on which it was.
 * @throws ApiError `not_found` without a wallet.
 */
export async function spentSince(q: Queryable, clock: Clock, of: SpendingOf): Promise<bigint> {
  const [spent] = await spentAtMost(q, clock, [of])
  if (!spent) throw new Error('a query gave no row')
  const { postedMicro, dueMicro } = spent
  if (of.instanceId !== null) return atLeastZero(postedMicro + dueMicro)
  const { takenMicro, unpostedSince } = await readTotals(q, clock, of.userId)
  const isOlder = unpostedSince !== null && unpostedSince < of.since
  const before = isOlder ? (await readTotals(q, { now: () => of.since }, of.userId)).takenMicro : 0n
  return atLeastZero(postedMicro + takenMicro - before)
}

/**
 * What was spent at most, of many at once: of an account, what its wallet cannot pay of what is due counts as well.
 * @returns By what was asked for, in its order: what is posted, and what is due beyond that.
 */
export async function spentAtMost(
  q: Pick<Queryable, 'execute'>,
  clock: Clock,
  of: readonly SpendingOf[],
): Promise<{ postedMicro: bigint; dueMicro: bigint }[]> {
  if (of.length === 0) return []
  const asked = JSON.stringify(
    of.map(({ userId, instanceId, since }, position) => ({
      position,
      user_id: userId,
      instance_id: instanceId,
      since: since.toISOString(),
    })),
  )
  const now = sql`${clock.now().toISOString()}::timestamptz`
  const isMeant = sql`(w.instance_id is null or (i.subject_kind = 'instance' and i.subject_id = w.instance_id))`
  // In one statement, so that a posting beside it is counted once.
  const { rows } = await q.execute<{ posted: string; due: string }>(sql`
    select
      case when w.instance_id is null then
        (select coalesce(sum(t.cash_micro + t.credits_micro), 0) from usage_total t
         where t.user_id = w.user_id and t.day >= (w.since at time zone 'utc')::date)
      else
        (select coalesce(sum(case when d.back then -d.amount_micro else d.amount_micro end), 0)
         from usage_day d join usage_interval i on i.id = d.interval_id
         where d.user_id = w.user_id and d.day >= (w.since at time zone 'utc')::date and d.part <> 'write_off'
           and i.subject_kind = 'instance' and i.subject_id = w.instance_id)
      end as posted,
      (select coalesce(sum(greatest(
         ${dueSql(now)} - greatest(i.posted_micro + i.waived_micro, ${dueSql(sql`w.since`)}), 0)), 0)
       from usage_interval i
       where i.user_id = w.user_id and i.ended_at is null and ${isMeant}) as due
    from jsonb_to_recordset(${asked}::jsonb)
      as w(position int, user_id uuid, instance_id text, since timestamptz)
    order by w.position`)
  return rows.map(({ posted, due }) => ({ postedMicro: BigInt(posted), dueMicro: BigInt(due) }))
}

function atLeastZero(micro: bigint): bigint {
  return micro > 0n ? micro : 0n
}
