/**
 * Runs at most so many works at a time; the others wait their turn, in the order in which they came.
 * @param worksMax How many.
 */
export function createAtOnce(worksMax: number): <T>(work: () => Promise<T>) => Promise<T> {
  let running = 0
  const waiting: (() => void)[] = []
  return async work => {
    // Who ends hands its place on, so that nobody who comes in between takes it.
    if (running < worksMax) running += 1
    else await new Promise<void>(resolve => waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running -= 1
    }
  }
}
