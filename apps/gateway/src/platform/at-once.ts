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

/**
 * As `createAtOnce` for each of many: what one has waits for what the same one has, and for nobody else's.
 * @returns Takes who has it, and the work.
 */
export function createAtOnceEach(
  worksMax: number,
  full: { waitingMax: number; refuse(): never } | null = null,
): <T>(who: string, work: () => Promise<T>) => Promise<T> {
  const lines = new Map<string, { run: ReturnType<typeof createAtOnce>; works: number }>()
  return async (who, work) => {
    const line = lines.get(who) ?? { run: createAtOnce(worksMax, full), works: 0 }
    lines.set(who, line)
    line.works++
    try {
      return await line.run(work)
    } finally {
      line.works--
      if (line.works === 0) lines.delete(who)
    }
  }
}
