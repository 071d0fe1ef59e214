/** How much work may be done: some at once, and a part of the time in the long run. */
export interface Allowance {
  /** How long until something may be done again, in milliseconds; 0: at once. */
  waitMs(): number
  /** Takes off what was done, which may be more than was left: it is waited for then. */
  spend(workMs: number): void
}

/**
 * Makes an allowance, full at first.
 * @param options.burstMs What may be done at once.
 * @param options.share Part of the time that comes back as allowance, above 0.
 * @param options.now A clock that never goes back, in milliseconds.
 */
export function createAllowance(options: { burstMs: number; share: number; now(): number }): Allowance {
  const { burstMs, share, now } = options
  let leftMs = burstMs
  let at = now()

  function refill(): void {
    const since = now() - at
    at += since
    leftMs = Math.min(burstMs, leftMs + since * share)
  }

  return {
    waitMs: () => {
      refill()
      return leftMs > 0 ? 0 : Math.max(1, -leftMs / share)
    },
    spend: workMs => {
      leftMs -= workMs
    },
  }
}
