import type { Logger } from 'pino'

/** One step of an orderly end. */
export interface ShutdownPhase {
  /** What ends in it, for the log. */
  name: string
  /** A phase that takes longer is left behind; the next one still runs. */
  deadlineMs: number
  run(): Promise<void>
}

/**
 * Ends things one after the other, each with a deadline of its own: a phase that hangs or fails does not keep the next
 * ones from running.
 * @param phases In the order in which they run; one that is not there yet may be added until the end begins.
 * @returns What begins the end: true when every phase ended well. Called again, it gives the same answer.
 */
export function createShutdown(phases: ShutdownPhase[], log: Pick<Logger, 'warn' | 'error' | 'debug'>) {
  let ending: Promise<boolean> | null = null
  return (): Promise<boolean> => {
    ending ??= runAll(phases, log)
    return ending
  }
}

async function runAll(
  phases: ShutdownPhase[],
  log: Pick<Logger, 'warn' | 'error' | 'debug'>,
): Promise<boolean> {
  let well = true
  for (const { name, deadlineMs, run } of phases) {
    const startedAt = performance.now()
    try {
      if (await endsWithin(run(), deadlineMs)) {
        log.debug({ phase: name, ms: Math.round(performance.now() - startedAt) }, 'shutdown phase ended')
        continue
      }
      log.warn({ phase: name, deadlineMs }, 'shutdown phase took too long; going on without it')
    } catch (error) {
      log.error({ phase: name, err: error }, 'shutdown phase failed')
    }
    well = false
  }
  return well
}

async function endsWithin(work: Promise<void>, deadlineMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>(resolve => {
    timer = setTimeout(() => resolve(false), deadlineMs)
  })
  try {
    return await Promise.race([work.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}
