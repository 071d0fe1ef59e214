import type { Logger } from 'pino'
import type { Clock } from './clock.ts'
import type { Database } from './database/database.ts'
import { releaseLease, withLease } from './lease.ts'

export interface LoopOptions {
  /** For the log, and the lease's name. */
  name: string
  /** Between the end of one round and the start of the next, at the most. */
  pauseMs: number
  /**
   * After each round: how soon there is something to do, in ms; null where nothing is known. The pause lasts no longer
   * than that, so that it can be long and nothing is late.
   */
  dueInMs?(): number | null
  /** Pause after a round that failed; left out: the same. */
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
  /** Something will be to do: a round begins within so many ms, after the one under way. Before `start` it is nothing. */
  wake(withinMs?: number): void
  /** Begins no round any more, and returns when none runs; its lease is given back, so that another gateway goes on at once. */
  stop(): Promise<void>
}

/** A lease outlasts the pause by this, so that one gateway keeps a loop until it dies. */
const LEASE_MARGIN_MS = 5_000

/**
 * Runs something again and again, the first time after one pause. An error is logged, and the next round tries
 * again.
 */
export function createLoop(options: LoopOptions): Loop {
  const { name, pauseMs, errorPauseMs = pauseMs, atOnce = false, log } = options
  const stopping = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()
  let isStarted = false
  let isBusy = false
  let isHeld = false
  /** When the next round begins at the latest, by `performance.now()`. */
  let nextAt = Number.POSITIVE_INFINITY

  async function once(lease: LoopLease | undefined): Promise<void> {
    if (!lease) {
      await options.run(stopping.signal)
      return
    }
    const { db, clock, owner } = lease
    isHeld = await withLease(db, clock, { name, owner, ttlMs: pauseMs + LEASE_MARGIN_MS }, async lost => {
      isHeld = true
      await options.run(AbortSignal.any([lost, stopping.signal]))
    })
  }

  async function giveBack({ db, owner }: LoopLease): Promise<void> {
    isHeld = false
    try {
      await releaseLease(db, { name, owner })
    } catch (error) {
      log.error({ err: error, loop: name }, 'a lease was not given back, and is free once it has run out')
    }
  }

  /** @returns How long to pause. */
  async function round(lease: LoopLease | undefined): Promise<number> {
    try {
      await once(lease)
      const dueMs = options.dueInMs?.()
      return Math.max(0, Math.min(pauseMs, dueMs ?? pauseMs))
    } catch (error) {
      log.error({ err: error, loop: name }, 'a round failed; the next one tries again')
      return errorPauseMs
    }
  }

  function begin(lease: LoopLease | undefined): void {
    isBusy = true
    nextAt = Number.POSITIVE_INFINITY
    running = round(lease).then(ms => {
      isBusy = false
      schedule(ms)
    })
  }

  function schedule(ms: number): void {
    nextAt = Math.min(nextAt, performance.now() + ms)
    if (isBusy || stopping.signal.aborted) return
    clearTimeout(timer)
    timer = setTimeout(() => begin(options.lease), Math.max(0, nextAt - performance.now()))
    if (options.mayEnd) timer.unref()
  }

  return {
    start() {
      isStarted = true
      if (atOnce) begin(undefined)
      else schedule(pauseMs)
    },
    wake(withinMs = 0) {
      if (isStarted) schedule(withinMs)
    },
    async stop() {
      stopping.abort()
      clearTimeout(timer)
      await running
      if (isHeld && options.lease) await giveBack(options.lease)
    },
  }
}
