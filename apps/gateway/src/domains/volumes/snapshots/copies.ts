import type { Logger } from 'pino'

/** A copy has this long; then it is given up, and counts as a try that failed. */
const COPY_MS_MAX = 6 * 3_600_000
/** Copies of one engine at the same time: what runs there needs its disk more. */
const COPIES_PER_ENGINE_MAX = 2

/** Copies that this gateway has under way, which take long and are waited for by nobody. */
export function createCopies({ log }: { log: Pick<Logger, 'error'> }) {
  const underWay = new Map<string, { engineId: string; stop: AbortController; done: Promise<void> }>()

  return {
    /** Of what is made. */
    has: (id: string): boolean => underWay.has(id),
    ids: (): string[] => [...underWay.keys()],
    hasRoom: (engineId: string): boolean =>
      [...underWay.values()].filter(one => one.engineId === engineId).length < COPIES_PER_ENGINE_MAX,

    /**
     * Begins one, which is not waited for.
     * @param run Does it, and notes how it ended; where `isOver` says so, nobody wants to hear that it failed.
     */
    begin(
      { id, engineId }: { id: string; engineId: string },
      run: (signal: AbortSignal, isOver: () => boolean) => Promise<void>,
    ): void {
      const stop = new AbortController()
      const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(COPY_MS_MAX)])
      const done = run(signal, () => stop.signal.aborted)
        .catch(error => log.error({ err: error, id }, 'how a copy of a volume ended could not be noted'))
        .finally(() => underWay.delete(id))
      underWay.set(id, { engineId, stop, done })
    },

    /** Gives one up, and returns when it has ended; none of that id: at once. */
    async end(id: string): Promise<void> {
      const one = underWay.get(id)
      one?.stop.abort()
      await one?.done
    },

    /** Gives all of them up. Whoever comes next begins them again. */
    async endAll(): Promise<void> {
      for (const { stop } of underWay.values()) stop.abort()
      await Promise.all([...underWay.values()].map(({ done }) => done))
    },
  }
}
