/** How long a port may take to say whether anything listens on it, and a guest what it is. */
const PROBE_MS = 1_000

/** What a machine answers; null when it does not in time. */
export async function inTime<T>(answer: Promise<T>): Promise<T | null> {
  let timer: NodeJS.Timeout | null = null
  const late = new Promise<null>(resolve => {
    timer = setTimeout(resolve, PROBE_MS, null)
  })
  const found = await Promise.race([answer, late])
  if (timer) clearTimeout(timer)
  return found
}
