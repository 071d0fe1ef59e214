import type { Logger } from 'pino'

interface LoopOptions {
  /** For the log. */
  name: string
  /** Between the end of one round and the start of the next. */
  pause_ms: number
  log: Pick<Logger, 'error'>
  run(): Promise<void>
}

/**
 * Runs something again and again in this process, the first time after one pause. An error is logged, and the next
 * round tries again. `stop` returns when nothing runs any more.
 */
export function createLoop(options: LoopOptions): { start(): void; stop(): Promise<void> } {
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()
  let stopped = false

  async function round(): Promise<void> {
    try {
      await options.run()
    } catch (error) {
      options.log.error({ err: error, loop: options.name }, 'a round failed; the next one tries again')
    }
    schedule()
  }

  function schedule(): void {
    if (stopped) return
    timer = setTimeout(() => {
      running = round()
    }, options.pause_ms)
  }

  return {
    start: schedule,
    async stop() {
      stopped = true
      clearTimeout(timer)
      await running
    },
  }
}
