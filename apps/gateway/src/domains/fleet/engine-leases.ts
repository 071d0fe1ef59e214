import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Engine } from '../../drivers/compute/port/engine.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database/database.ts'
import { notify } from '../../platform/database/open-database.ts'
import { releaseLease, withLease } from '../../platform/lease.ts'
import { FLEET_CHANNEL } from './engine-store.ts'

/** An engine's lease outlives its gateway by this at most: then another one takes over. */
const LEASE_MS = 6_000
const TRY_MS = 1_000

/** An engine, and what the version before called it. */
interface Found {
  engine: Engine
  formerId: string | null
}

/**
 * Called when this gateway begins to look after an engine's machines; returns what to do when it no longer does.
 * Nobody else looks after them meanwhile.
 */
export type Serve = (engine: Engine, formerId: string | null) => Promise<() => void>

export interface EngineLeases {
  /** Whether this gateway looks after that engine's machines. */
  serves(engineId: string): boolean
  /** Tries for the lease of an engine from now on. Returns when the first try has been made. */
  contend(found: Found): Promise<void>
  /** Ends what is served of an engine, gives its lease back and tries for it no more. */
  leave(engineId: string): Promise<void>
  /** Ends what is served, and gives the leases back. */
  stop(): Promise<void>
}

/**
 * Looks after engines under a lease each.
 * @param deps.mayServe Whether this gateway should: not while another one reaches the engine and this one does not.
 */
export function createEngineLeases(deps: {
  db: Database
  clock: Clock
  log: Logger
  selfId: string
  serve: Serve
  mayServe(engineId: string): boolean
}): EngineLeases {
  const { db, clock, log, selfId, serve, mayServe } = deps
  const served = new Set<string>()
  const stopping = new AbortController()
  const contending = new Map<string, { leaving: AbortController; ended: Promise<void> }>()

  /** Serves while the lease is ours, if it can be had. */
  async function tryOnce({ engine, formerId }: Found, ending: AbortSignal, tried: () => void): Promise<void> {
    const lease = { name: `engine ${engine.id}`, owner: selfId }
    const ran = await withLease(db, clock, { ...lease, ttlMs: LEASE_MS }, async lost => {
      const end = await serve(engine, formerId)
      served.add(engine.id)
      await notify(db, FLEET_CHANNEL, engine.id)
      tried()
      try {
        while (mayServe(engine.id) && !lost.aborted && !ending.aborted) {
          await pause(TRY_MS, [lost, ending])
        }
      } finally {
        served.delete(engine.id)
        end()
      }
    })
    if (!ran) return
    await releaseLease(db, lease)
    await notify(db, FLEET_CHANNEL, engine.id)
  }

  async function contendFor(found: Found, ending: AbortSignal, tried: () => void): Promise<void> {
    const { engine } = found
    while (!ending.aborted) {
      try {
        if (mayServe(engine.id)) await tryOnce(found, ending, tried)
      } catch (error) {
        log.warn({ err: error, engine: engine.id }, 'an engine is not looked after here for now')
      }
      tried()
      await pause(TRY_MS, [ending])
    }
  }

  return {
    serves: engineId => served.has(engineId),
    async contend(found) {
      const { engine } = found
      if (contending.has(engine.id) || stopping.signal.aborted) return
      const tried = Promise.withResolvers<void>()
      const leaving = new AbortController()
      const ending = AbortSignal.any([stopping.signal, leaving.signal])
      contending.set(engine.id, { leaving, ended: contendFor(found, ending, tried.resolve) })
      await tried.promise
    },
    async leave(engineId) {
      const contender = contending.get(engineId)
      contender?.leaving.abort()
      await contender?.ended
      contending.delete(engineId)
    },
    async stop() {
      stopping.abort()
      await Promise.all([...contending.values()].map(({ ended }) => ended))
    },
  }
}

/** Waits, but no longer than until one of the signals. */
async function pause(ms: number, signals: AbortSignal[]): Promise<void> {
  await sleep(ms, undefined, { signal: AbortSignal.any(signals) }).catch(() => {})
}
