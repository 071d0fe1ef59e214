/** What goes wrong in a fake driver, by the name of the call. */
export interface Faults {
  /** The next calls of that name fail: for ever, or that many times. */
  fail(name: string, error: Error, times?: number): void
  /**
   * Calls of that name wait until they are released, or until their signal aborts.
   * @param options.deaf They ignore their signal, too.
   */
  block(name: string, options?: { deaf?: boolean }): Block
  /** Nothing goes wrong any more; blocked calls go on. */
  heal(): void
  /** Where every call passes: returns, throws or waits as it was told. */
  pass(name: string, signal: AbortSignal | null): Promise<void>
}

export interface Block {
  /** When a call has come to wait here. */
  reached: Promise<void>
  release(): void
}

interface Failure {
  error: Error
  times: number
}

export function createFaults(): Faults {
  const failures = new Map<string, Failure>()
  const blocks = new Map<string, { deaf: boolean; open: Promise<void>; arrive(): void; release(): void }>()

  return {
    fail(name, error, times = Number.POSITIVE_INFINITY) {
      failures.set(name, { error, times })
    },
    block(name, { deaf = false } = {}) {
      const reached = Promise.withResolvers<void>()
      const open = Promise.withResolvers<void>()
      const release = () => {
        blocks.delete(name)
        open.resolve()
      }
      blocks.set(name, { deaf, open: open.promise, arrive: reached.resolve, release })
      return { reached: reached.promise, release }
    },
    heal() {
      failures.clear()
      for (const block of blocks.values()) block.release()
    },
    async pass(name, signal) {
      signal?.throwIfAborted()
      const block = blocks.get(name)
      if (block) {
        block.arrive()
        await Promise.race(block.deaf || !signal ? [block.open] : [block.open, abortOf(signal)])
      }
      const failure = failures.get(name)
      if (!failure || failure.times <= 0) return
      failure.times -= 1
      throw failure.error
    },
  }
}

function abortOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}
