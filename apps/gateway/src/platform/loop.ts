import type { Logger } from 'pino'
import type { Clock } from './clock.ts'
import type { Database } from './database/database.ts'
import { withLease } from './lease.ts'

export interface LoopOptions {
  /** For the log, and the lease's name. */
  name: string
  /** Between the end of one round and the start of the next. */
  pauseMs: number
  /** Pause after a round that failed, where that is longer; left out: the same. */
  errorPauseMs?: number
  /** The first round comes at once and without the lease: a dead process may still hold it. It must be safe beside others. */
  atOnce?: boolean
  /** Of all gateways one runs the loop, as long as it lives; left out: each runs its own. */
  lease?: LoopLease
  /** A process that has nothing else to do may end between two rounds. */
  mayEnd?: boolean
  log: Pick<Logger, 'error'>
  /** @param signal Aborts when the loop is stopped, and when the lease was lost. */
  run(signal: AbortSignal): Promise<unknown>
}

interface LoopLease {
  db: Database
  clock: Clock
  /** Who holds it: the same for all of one process. */
  owner: string
}

export interface Loop {
  start(): void
  /** Begins no round any more, and returns when none runs. */
  stop(): Promise<void>
}

/** A lease outlasts the pause by this, so that one gateway keeps a loop until it dies. */
const LEASE_MARGIN_MS = 5_000

/**
 * Runs something again and again, the first time after one pause. An error is logged, and the next round tries
 * again.
 */
export function createLoop(options: LoopOptions): Loop {
  const { name, pauseMs, errorPauseMs = 0, atOnce = false, log } = options
  const stopping = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()

  async function once(lease: LoopLease | undefined): Promise<void> {
    if (!lease) {
      await options.run(stopping.signal)
      return
    }
    const { db, clock, owner } = lease
    await withLease(db, clock, { name, owner, ttlMs: pauseMs + LEASE_MARGIN_MS }, async lost => {
      await options.run(AbortSignal.any([lost, stopping.signal]))
    })
  }

  async function round(lease: LoopLease | undefined): Promise<void> {
    try {
      await once(lease)
      schedule(pauseMs)
    } catch (error) {
      log.error({ err: error, loop: name }, 'a round failed; the next one tries again')
      schedule(Math.max(pauseMs, errorPauseMs))
    }
  }

  function schedule(ms: number): void {
    if (stopping.signal.aborted) return
    timer = setTimeout(() => {
      running = round(options.lease)
    }, ms)
    if (options.mayEnd) timer.unref()
  }

  return {
    start() {
      if (atOnce) running = round(undefined)
      else schedule(pauseMs)
    },
    async stop() {
      stopping.abort()
      clearTimeout(timer)
      await running
    },
  }
}
