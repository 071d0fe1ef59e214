import { createAtOnce } from './at-once.ts'

/** A work that waits, and who is told what it came to. */
interface Waiting<Work, Result> {
  work: Work
  settle: PromiseWithResolvers<Result>
}

/** What has its turn for itself; it tells by itself what it came to, and never throws. */
interface WaitingAlone {
  alone(): Promise<void>
}

/** Works of many, each of whom has one line: of theirs no more than one thing is under way. */
export interface Gathered<Work, Result> {
  /** Runs a work together with those of the same one that stand beside it in the line. */
  together(who: string, work: Work): Promise<Result>
  /** Runs something by itself, in the same line. */
  alone<T>(who: string, run: () => Promise<T>): Promise<T>
}

/**
 * Runs works of many, and those of one together: while some of theirs are under way, what comes besides waits, and then runs
 * as one. Whoever is alone waits for nobody.
 * @param options.run Runs some works of one, in the order in which they came. @returns What each came to, in their order;
 *   where it throws, all of them fail.
 * @param options.togetherMax Works that run as one.
 * @param options.atOnceMax Of how many they run at a time.
 */
export function createGathered<Work, Result>({
  run,
  togetherMax,
  atOnceMax,
}: {
  run(who: string, works: readonly Work[]): Promise<readonly PromiseSettledResult<Result>[]>
  togetherMax: number
  atOnceMax: number
}): Gathered<Work, Result> {
  const ofAll = createAtOnce(atOnceMax)
  const lines = new Map<string, (Waiting<Work, Result> | WaitingAlone)[]>()

  async function runSome(who: string, some: readonly Waiting<Work, Result>[]): Promise<void> {
    try {
      const works = some.map(({ work }) => work)
      const results = await run(who, works)
      for (const [at, { settle }] of some.entries()) {
        const result = results[at]
        if (result?.status === 'fulfilled') settle.resolve(result.value)
        else settle.reject(result ? result.reason : new Error('a work came to nothing'))
      }
    } catch (error) {
      for (const { settle } of some) settle.reject(error)
    }
  }

  /** Takes from the head of a line what runs next: something by itself, or the works before the next such thing. */
  async function runNext(who: string, line: (Waiting<Work, Result> | WaitingAlone)[]): Promise<void> {
    const some: Waiting<Work, Result>[] = []
    for (const next of line.slice(0, togetherMax)) {
      if ('alone' in next) break
      some.push(next)
    }
    const [first] = line.splice(0, Math.max(some.length, 1))
    if (first && 'alone' in first) await first.alone()
    else await runSome(who, some)
  }

  async function runLine(who: string, line: (Waiting<Work, Result> | WaitingAlone)[]): Promise<void> {
    while (line.length > 0) await ofAll(() => runNext(who, line))
    lines.delete(who)
  }

  function standInLine(who: string, waiting: Waiting<Work, Result> | WaitingAlone): void {
    const line = lines.get(who)
    if (line) line.push(waiting)
    else {
      const own = [waiting]
      lines.set(who, own)
      void runLine(who, own)
    }
  }

  return {
    together(who, work) {
      const settle = Promise.withResolvers<Result>()
      standInLine(who, { work, settle })
      return settle.promise
    },
    alone<T>(who: string, run: () => Promise<T>) {
      const settle = Promise.withResolvers<T>()
      standInLine(who, { alone: () => run().then(settle.resolve, settle.reject) })
      return settle.promise
    },
  }
}
