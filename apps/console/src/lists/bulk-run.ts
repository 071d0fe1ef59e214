import { useSyncExternalStore } from 'react'
import type { Outcome } from '../api/change-many.ts'

/** One of the things that something is done to. */
export interface BulkItem {
  key: string
  name: string
}

/** Something that is done to many things, as far as it is. */
export interface BulkRun<Action extends string, Item extends BulkItem = BulkItem> {
  action: Action
  items: readonly Item[]
  outcomes: ReadonlyMap<string, Outcome>
  /** How many it was done to. */
  done: number
  /** How many it was not done to: refused, or never sent. */
  failed: number
  isOver: boolean
}

type Send<Item> = (
  items: readonly Item[],
  options: { onOutcome: (key: string, outcome: Outcome) => void; signal: AbortSignal },
) => Promise<void>

/** What is under way, or was last. */
export interface BulkRuns<Action extends string, Item extends BulkItem = BulkItem> {
  /** Null where there is nothing to tell. Another object at each change. */
  get: () => BulkRun<Action, Item> | null
  subscribe: (listener: () => void) => () => void
  /** Begins. @returns How it ended, once it has; null where it was forgotten, or something else is under way. */
  begin: (action: Action, items: readonly Item[], send: Send<Item>) => Promise<BulkRun<Action, Item> | null>
  /** Sends nothing more; what was sent comes to its end. */
  callOff: () => void
  /** As `callOff`, and tells nothing more of it. */
  forget: () => void
}

/**
 * Makes the place where a list's runs are kept, at module level: a run goes on when its dialog is closed and when its page
 * is left.
 */
export function createBulkRuns<Action extends string, Item extends BulkItem>(): BulkRuns<Action, Item> {
  const listeners = new Set<() => void>()
  let run: BulkRun<Action, Item> | null = null
  let abort = new AbortController()
  const set = (next: BulkRun<Action, Item> | null) => {
    run = next
    for (const listener of listeners) listener()
  }

  return {
    get: () => run,
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async begin(action, items, send) {
      if (run && !run.isOver) return null
      const ours = new AbortController()
      abort = ours
      const outcomes = new Map<string, Outcome>(items.map(({ key }) => [key, { state: 'waiting' }]))
      const [done, failed] = [new Set<string>(), new Set<string>()]
      const tell = (isOver: boolean) => {
        if (abort !== ours) return
        set({ action, items, outcomes, done: done.size, failed: failed.size, isOver })
      }
      tell(false)
      const onOutcome = (key: string, outcome: Outcome) => {
        outcomes.set(key, outcome)
        if (outcome.state === 'done') done.add(key)
        if (outcome.state === 'failed' || outcome.state === 'left') failed.add(key)
        tell(false)
      }
      await send(items, { onOutcome, signal: ours.signal })
      tell(true)
      return abort === ours ? run : null
    },
    callOff: () => abort.abort(),
    forget() {
      abort.abort()
      abort = new AbortController()
      set(null)
    },
  }
}

/** The run of a list; the component follows it. */
export function useBulkRun<Action extends string, Item extends BulkItem>(
  runs: BulkRuns<Action, Item>,
): BulkRun<Action, Item> | null {
  return useSyncExternalStore(runs.subscribe, runs.get)
}

/** What a run was not done to: refused, or never sent. */
export function failedItems<Item extends BulkItem>({
  items,
  outcomes,
}: Pick<BulkRun<string, Item>, 'items' | 'outcomes'>): readonly Item[] {
  return items.filter(({ key }) => outcomes.get(key)?.state !== 'done')
}
