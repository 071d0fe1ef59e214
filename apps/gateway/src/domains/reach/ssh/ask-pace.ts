import { setTimeout as sleep } from 'node:timers/promises'

/** When a customer's connections may ask the gateway next: so many times at once, then so many a second. */
export type AskPace = (userId: string) => Promise<void>

const MS_PER_SECOND = 1_000

/**
 * Makes the pace of all customers. Each question costs the gateway a look at its database and a way to the machine, also
 * one that comes to nothing; who asks too often waits, and nobody else does.
 * @param limits.atOnce What a customer who has not asked for a while may ask without waiting.
 * @param limits.perSecond How fast that is given back.
 * @returns Settles when it is the customer's turn. Whoever has given up meanwhile has used it all the same.
 */
export function createAskPace({ atOnce, perSecond }: { atOnce: number; perSecond: number }): AskPace {
  const everyMs = MS_PER_SECOND / perSecond
  /** When all that was asked would have been answered at the slow pace. */
  const doneAt = new Map<string, number>()
  return async userId => {
    const now = performance.now()
    for (const [other, at] of doneAt) {
      // The oldest come first: those after it are not over either.
      if (at > now) break
      doneAt.delete(other)
    }
    const at = Math.max(doneAt.get(userId) ?? 0, now) + everyMs
    doneAt.delete(userId)
    doneAt.set(userId, at)
    const waitMs = at - now - atOnce * everyMs
    if (waitMs > 0) await sleep(waitMs, undefined, { ref: false })
  }
}
