import { BALANCE_POLL_MS } from '@berth/contract/limits'

/** What the connection needs from its surroundings. */
interface ConnectionDeps {
  /** Asks the gateway for as little as there is; fails where no answer comes. */
  probe: () => Promise<unknown>
  /** A clock in milliseconds. */
  now: () => number
  /** How often it is asked while there is none, in milliseconds. */
  probeEveryMs?: number
}

/** Whether answers come from the gateway. */
export interface Connection {
  /** Since when none come, in milliseconds of the clock; null while they do. */
  lostSince: () => number | null
  subscribe: (listener: () => void) => () => void
  /** A call had no answer: one may be lost on its way, so the gateway is asked before anything is said. */
  suspect: () => void
  /** The browser says that it has no network. */
  lose: () => void
  /** An answer came, whatever it was. */
  hear: () => void
  /** Asks now, and not at the next turn. @returns When it is known. */
  look: () => Promise<void>
}

/**
 * Watches whether the gateway can be reached: by the answers to calls, and by asking while there are none.
 * @param deps See ConnectionDeps.
 */
export function createConnection(deps: ConnectionDeps): Connection {
  const { probe, now, probeEveryMs = BALANCE_POLL_MS } = deps
  const listeners = new Set<() => void>()
  let since: number | null = null
  let timer: ReturnType<typeof setInterval> | undefined
  let looking: Promise<void> | null = null

  const set = (next: number | null) => {
    since = next
    clearInterval(timer)
    timer = next === null ? undefined : setInterval(look, probeEveryMs)
    for (const listener of listeners) listener()
  }
  const lose = () => {
    if (since === null) set(now())
  }
  const hear = () => {
    if (since !== null) set(null)
  }
  const look = () => {
    looking ??= probe()
      .then(hear, lose)
      .finally(() => {
        looking = null
      })
    return looking
  }
  return {
    lostSince: () => since,
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    suspect: () => void (since === null && look()),
    lose,
    hear,
    look,
  }
}

/** The connection of this page. */
export const connection: Connection = createConnection({
  probe: () => fetch('/gateway/health', { cache: 'no-store' }),
  now: () => Date.now(),
})

/**
 * Calls once the gateway answers again after it did not.
 * @returns Ends the waiting.
 */
export function whenBack(listener: () => void, watched: Connection = connection): () => void {
  let wasLost = watched.lostSince() !== null
  return watched.subscribe(() => {
    const isLost = watched.lostSince() !== null
    if (wasLost && !isLost) listener()
    wasLost = isLost
  })
}
