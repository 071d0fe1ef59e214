/** How long one cause stays quiet after it was shown: as long as its toast is up, and a little more. */
const QUIET_MS = 5_000

/**
 * Lets one message through for each cause and window, so that ten calls that fail for one reason make one
 * toast (R8.2).
 * @param now Reads a clock in milliseconds.
 * @param quietMs Length of the window, from the message that was let through.
 * @returns A function that says whether a cause may be shown now.
 */
export function createCauseFilter(now: () => number, quietMs: number = QUIET_MS): (cause: string) => boolean {
  const shownAt = new Map<string, number>()
  return cause => {
    const last = shownAt.get(cause)
    if (last !== undefined && now() - last < quietMs) return false
    shownAt.set(cause, now())
    return true
  }
}
