interface BatchReaderOptions<Value> {
  /** Reads many at once; a key that is missing from the answer does not exist. */
  read(keys: string[]): Promise<Map<string, Value>>
  /** Keys in one read. */
  batchKeysMax: number
  /** Reads under way at the same time. */
  readsMax: number
}

interface Question<Value> {
  key: string
  resolve(value: Value | undefined): void
  reject(error: unknown): void
}

/**
 * Answers questions that arrive together with one read. A question never joins a read that has begun, so every
 * answer is at least as new as its question: this is no cache.
 * @returns A function from key to value, or undefined where there is none. It rejects when its read failed.
 */
export function createBatchReader<Value>(
  options: BatchReaderOptions<Value>,
): (key: string) => Promise<Value | undefined> {
  let waiting: Question<Value>[] = []
  let reads = 0
  let scheduled = false

  function schedule() {
    if (scheduled || waiting.length === 0 || reads >= options.readsMax) return
    scheduled = true
    // After the input of this turn of the event loop, so that requests that came together share a read.
    setImmediate(() => {
      scheduled = false
      const batch = waiting.slice(0, options.batchKeysMax)
      waiting = waiting.slice(options.batchKeysMax)
      void carryOut(batch)
      schedule()
    })
  }

  async function carryOut(batch: Question<Value>[]) {
    reads += 1
    try {
      const values = await options.read([...new Set(batch.map(({ key }) => key))])
      for (const { key, resolve } of batch) resolve(values.get(key))
    } catch (error) {
      for (const { reject } of batch) reject(error)
    } finally {
      reads -= 1
      schedule()
    }
  }

  return key =>
    new Promise((resolve, reject) => {
      waiting.push({ key, resolve, reject })
      schedule()
    })
}
