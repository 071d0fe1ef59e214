/**
 * Runs at most so many works at a time; the others wait their turn, in the order in which they came.
 * @param worksMax How many.
 * @param full Where more than `waitingMax` would wait, `refuse` throws in their place; left out: any number waits.
 */
export function createAtOnce(
  worksMax: number,
  full: { waitingMax: number; refuse(): never } | null = null,
): <T>(work: () => Promise<T>) => Promise<T> {
  let running = 0
  const waiting: (() => void)[] = []
  return async work => {
    if (running < worksMax) running += 1
    else {
      if (full && waiting.length >= full.waitingMax) full.refuse()
      // Who ends hands its place on, so that nobody who comes in between takes it.
      await new Promise<void>(resolve => waiting.push(resolve))
    }
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running -= 1
    }
  }
}
