import { setTimeout as sleep } from 'node:timers/promises'

/** A step took longer than it may. */
export class StepTimedOut extends Error {
  constructor(deadlineMs: number) {
    super(`no answer within ${deadlineMs} ms`)
    this.name = 'StepTimedOut'
  }
}

/** A step was given up because it is not wanted any more: the row changed, or the gateway stops. */
export class StepSuperseded extends Error {
  constructor() {
    super('superseded')
    this.name = 'StepSuperseded'
  }
}

interface DeadlineOptions {
  deadlineMs: number
  /** Aborts when the step is not wanted any more. */
  superseded: AbortSignal
  /** How long the aborted call may take to come back. */
  graceMs: number
}

/**
 * Runs a driver call that may hang. It is given a signal; should it ignore that, it is left behind after a grace,
 * so that whoever waits for it goes on in any case.
 * @param run Is also given `prolong`, which starts the deadline anew: for work that shows progress.
 * @throws StepTimedOut, StepSuperseded, or what `run` throws.
 */
export async function withDeadline<T>(
  options: DeadlineOptions,
  run: (signal: AbortSignal, prolong: () => void) => Promise<T>,
): Promise<T> {
  const { deadlineMs, superseded, graceMs } = options
  if (superseded.aborted) throw new StepSuperseded()
  const abort = new AbortController()
  const given = Promise.withResolvers<never>()
  const giveUp = (error: Error) => {
    given.reject(error)
    abort.abort(error)
  }
  const timer = setTimeout(() => giveUp(new StepTimedOut(deadlineMs)), deadlineMs)
  const onSuperseded = () => giveUp(new StepSuperseded())
  superseded.addEventListener('abort', onSuperseded, { once: true })
  const work = run(abort.signal, () => timer.refresh())
  try {
    return await Promise.race([work, given.promise])
  } catch (error) {
    if (abort.signal.aborted) {
      await Promise.race([work.catch(() => {}), sleep(graceMs, undefined, { ref: false })])
      throw abort.signal.reason
    }
    throw error
  } finally {
    clearTimeout(timer)
    superseded.removeEventListener('abort', onSuperseded)
    // Whoever lost the race must not end the process.
    work.catch(() => {})
    given.promise.catch(() => {})
  }
}
