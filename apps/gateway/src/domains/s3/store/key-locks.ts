/** Lets one change of a thing happen at a time, in the order in which they were asked for. */
export function createKeyLocks() {
  const last = new Map<string, Promise<unknown>>()

  /** Does some work when nobody else works on the same thing. @throws What it throws. */
  return async function locked<Result>(thing: string, work: () => Promise<Result>): Promise<Result> {
    const before = last.get(thing) ?? Promise.resolve()
    const own = before.then(work, work)
    last.set(thing, own)
    try {
      return await own
    } finally {
      if (last.get(thing) === own) last.delete(thing)
    }
  }
}

export type KeyLocks = ReturnType<typeof createKeyLocks>
