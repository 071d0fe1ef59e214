import { sql } from 'drizzle-orm'
import type { World } from './world.ts'

const QUIET_MS = 120_000
const POLL_MS = 100
/** What a payment or a card does later, it has done by then. */
const LATER_S = 3_700
/** What an instance may be tried again after, and what a dead gateway's leases last. */
const ROUNDS_MAX = 40

/** What is still under way, by how many of it. */
const UNDER_WAY = sql`select
  (select count(*) from instance where terminated_at is null and (status not in ('running', 'stopped', 'exited', 'error')
    or desired = 'terminated' or status = 'running' and restarts_asked <> restarts_done
    or desired = 'running' and status = 'stopped' or desired = 'stopped' and status = 'running'))::int as instances,
  (select count(*) from volume where deleted_at is null and status not in ('ready', 'error'))::int as volumes,
  (select count(*) from volume_snapshot where deleted_at is null and status not in ('ready', 'failed'))::int as snapshots,
  (select count(*) from payment_intent where state in ('created', 'processing'))::int as payments,
  (select count(*) from refund_request where state = 'asked')::int as refunds,
  (select count(*) from testcard_intent where moves_at is not null)::int as cards,
  (select count(*) from testcard_event where deliver_at is not null)::int as events`

/**
 * Lets all come to an end: what is under way is finished, then all is removed that costs, then the last is posted.
 * @returns What does not end, in sentences.
 */
export async function settle(world: World): Promise<string[]> {
  const stuck = await untilQuiet(world)
  if (stuck === null) return []
  const { rows } = await world.operator.db.execute(sql`
    select id, status, desired, reason_code, reason_detail, attempts, failure_code, failure_detail, next_attempt_at,
      restarts_asked, restarts_done, lease_until, engine_id from instance
    where terminated_at is null
      and (desired = 'terminated' or not (status = desired or status in ('error', 'exited')) or restarts_asked <> restarts_done)`)
  return [`this does not end: ${stuck} ${JSON.stringify(rows)} at ${world.clock.now().toISOString()}`]
}

async function untilQuiet(world: World): Promise<string | null> {
  const { operator, clock } = world
  const { billing } = operator.gateway
  let left = ''
  for (let round = 0; round < ROUNDS_MAX; round++) {
    clock.advance(LATER_S)
    await again(() => billing.recoverTopups())
    await again(() => billing.methods.recover())
    const deadline = performance.now() + QUIET_MS / ROUNDS_MAX
    do {
      const { rows } = await again(() => operator.db.execute<Record<string, number>>(UNDER_WAY))
      const all = { ...rows[0], lost: await lostMachines(world) }
      const counts = Object.entries(all).filter(([, count]) => count > 0)
      if (counts.length === 0) return null
      left = JSON.stringify(Object.fromEntries(counts))
      await new Promise(resolve => setTimeout(resolve, POLL_MS))
    } while (performance.now() < deadline)
  }
  return left
}

/** How many instances are taken for running whose machine vanished without a word: the next look at the engine tells. */
async function lostMachines({ operator, engine }: World): Promise<number> {
  const { rows } = await again(() =>
    operator.db.execute<{ id: string }>(sql`select id from instance where status = 'running'`),
  )
  return rows.filter(({ id }) => engine.held.get(id)?.status.state !== 'running').length
}

/** The database may just have been ended. */
async function again<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (tries === ROUNDS_MAX) throw error
      await new Promise(resolve => setTimeout(resolve, POLL_MS))
    }
  }
}
