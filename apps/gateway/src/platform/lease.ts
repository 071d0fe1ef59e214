import { and, eq, sql } from 'drizzle-orm'
import type { Clock } from './clock.ts'
import type { Database } from './database/database.ts'
import { lease } from './database/tables.ts'

interface LeaseOptions {
  /** What is leased, such as `metering`. */
  name: string
  /** Who asks: the same for all of one process. */
  owner: string
  /** How long the lease lasts without renewal: after a crash, another replica takes over this much later. */
  ttlMs: number
}

/**
 * Runs something only if the named lease is free, ran out, or is ours already; so that of many replicas one runs
 * each loop. The lease is renewed while `run` is busy and stays ours afterwards until it runs out.
 * @param run Is given a signal that aborts when the lease was lost to another owner.
 * @returns Whether it ran. Errors of `run` and of the database are the caller's.
 */
export async function withLease(
  db: Database,
  clock: Clock,
  options: LeaseOptions,
  run: (signal: AbortSignal) => Promise<void>,
): Promise<boolean> {
  if (!(await acquire(db, clock, options))) return false
  const lost = new AbortController()
  const renewal = setInterval(() => {
    acquire(db, clock, options).then(
      held => held || lost.abort(),
      // The database is away: the lease may still be ours, and the next renewal will tell.
      () => {},
    )
  }, options.ttlMs / 3)
  renewal.unref()
  try {
    await run(lost.signal)
  } finally {
    clearInterval(renewal)
  }
  return true
}

/** Gives up one lease of an owner; one that it lost stays with whoever has it. */
export async function releaseLease(
  db: Database,
  { name, owner }: { name: string; owner: string },
): Promise<void> {
  await db.delete(lease).where(and(eq(lease.name, name), eq(lease.owner, owner)))
}

/** Gives up every lease of an owner, so that another replica need not wait for them to run out. */
export async function releaseLeases(db: Database, owner: string): Promise<void> {
  await db.delete(lease).where(eq(lease.owner, owner))
}

async function acquire(db: Database, clock: Clock, { name, owner, ttlMs }: LeaseOptions): Promise<boolean> {
  const now = clock.now()
  const until = new Date(now.getTime() + ttlMs)
  const rows = await db
    .insert(lease)
    .values({ name, owner, until })
    .onConflictDoUpdate({
      target: lease.name,
      set: { owner, until },
      setWhere: sql`${lease.owner} = ${owner} or ${lease.until} < ${now}`,
    })
    .returning({ name: lease.name })
  return rows.length > 0
}
