/** From here on a step counts as long, and says how long it took. */
const LONG_MS = 1_000

/** Tells the operator something, on standard output; the log goes to standard error. */
export function say(text: string): void {
  process.stdout.write(`${text}\n`)
}

/**
 * Names a step while it runs, if it takes long enough to wonder.
 * @param label What is being done, such as `Making the database`.
 */
export async function withProgress<Result>(label: string, work: () => Promise<Result>): Promise<Result> {
  const startedAt = performance.now()
  const seconds = () => Math.round((performance.now() - startedAt) / 1_000)
  let told = false
  const timer = setTimeout(() => {
    told = true
    say(`${label} …`)
  }, LONG_MS)
  try {
    const result = await work()
    if (told) say(`${label}: done in ${seconds()} s`)
    return result
  } catch (error) {
    if (told) say(`${label}: failed after ${seconds()} s`)
    throw error
  } finally {
    clearTimeout(timer)
  }
}
