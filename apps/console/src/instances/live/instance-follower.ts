import type { InstancesEvent } from '@berth/contract/instance-follow'

/** What following needs from its surroundings. */
export interface FollowerDeps {
  /** Follows until the stream ends or the signal is given; fails where it cannot be had. */
  follow(options: { signal: AbortSignal; onEvent: (event: InstancesEvent) => void }): Promise<void>
  /** Puts an event where pages look. */
  put(event: InstancesEvent): void
  /** Whether somebody looks at the tab, and when that changes. */
  isVisible(): boolean
  onVisible(listener: () => void): () => void
  /** Calls when it is worth while to try at once: the gateway is back. */
  onBack(listener: () => void): () => void
  /** A clock in milliseconds. */
  now(): number
  /** Between 0 and 1: so that not all consoles of a gateway that ends come at once. */
  random(): number
}

/** One stream for all of a tab that wants it. */
export interface InstanceFollower {
  /** Follows while somebody wants it and the tab is visible. @returns Wants it no more. */
  want(): () => void
  /** Begins anew, as when what it tells was said in another language. */
  restart(): void
  /** Whether what changes is told by itself just now. */
  isLive(): boolean
  subscribe(listener: () => void): () => void
}

/** The first event comes at once, unless something on the way holds answers back: then there is no use in waiting. */
const FIRST_EVENT_MS = 5_000
/** Pauses before the next try: longer each time, and never so long that a page stays without for good. */
const PAUSES_MS = [1_000, 2_000, 5_000, 15_000]
const PAUSE_MS_MAX = 60_000
/** What lasted so long is not cut by something on the way each time. */
const PROVEN_MS = 60_000
/** Another gateway is asked soon, but not by everybody in the same moment. */
const NEXT_GATEWAY_MS = 500

/**
 * Makes what follows. Where it cannot follow it tries again by itself, later each time, and says meanwhile that it is not
 * live: whoever reads instances then asks for them.
 */
export function createInstanceFollower(deps: FollowerDeps): InstanceFollower {
  const listeners = new Set<() => void>()
  let wanted = 0
  let live = false
  let running: AbortController | null = null
  /** Ends the pause before the next try. */
  let hurry: (() => void) | null = null

  function setLive(next: boolean): void {
    if (live === next) return
    live = next
    for (const listener of listeners) listener()
  }

  function settle(): void {
    const isDue = wanted > 0 && deps.isVisible()
    if (isDue === (running !== null)) return
    running?.abort()
    running = isDue ? new AbortController() : null
    setLive(false)
    if (running) void followAgain(running.signal)
  }

  async function followAgain(signal: AbortSignal): Promise<void> {
    let failures = 0
    while (!signal.aborted) {
      const beganMs = deps.now()
      const isOther = await followOnce(signal)
      if (signal.aborted) return
      setLive(false)
      const isProven = isOther || deps.now() - beganMs >= PROVEN_MS
      failures = isProven ? 0 : failures + 1
      const pauseMs = isOther ? NEXT_GATEWAY_MS : (PAUSES_MS[failures] ?? PAUSE_MS_MAX)
      await pause(pauseMs * (0.5 + deps.random()), signal)
    }
  }

  /** @returns Whether it ended because another gateway is to be asked. */
  async function followOnce(signal: AbortSignal): Promise<boolean> {
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(), FIRST_EVENT_MS)
    let isOther = false
    try {
      await deps.follow({
        signal: AbortSignal.any([signal, late.signal]),
        onEvent(event) {
          clearTimeout(timer)
          if (signal.aborted) return
          deps.put(event)
          // That a session is over is told by the next call that needs one.
          setLive(event.ended === null)
          isOther = event.ended === 'gateway'
        },
      })
    } catch {
      // Whoever reads instances says what is wrong.
    } finally {
      clearTimeout(timer)
    }
    return isOther
  }

  function pause(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise(resolve => {
      const done = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', done)
        hurry = null
        resolve()
      }
      const timer = setTimeout(done, ms)
      signal.addEventListener('abort', done)
      hurry = done
    })
  }

  let stops: (() => void)[] = []
  return {
    want() {
      wanted += 1
      if (wanted === 1) stops = [deps.onVisible(settle), deps.onBack(() => hurry?.())]
      settle()
      return () => {
        wanted -= 1
        if (wanted === 0) for (const stop of stops) stop()
        settle()
      }
    },
    restart() {
      running?.abort()
      running = null
      settle()
    },
    isLive: () => live,
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
