import type { NotificationChoice } from '@berth/contract/notifications'

/** How far the keeping of a choice is. */
export type SaverState =
  | { step: 'idle' }
  | { step: 'saving' }
  | { step: 'saved' }
  /** What was chosen stays on the screen; only the gateway does not know it yet. */
  | { step: 'failed'; error: Error }

interface SaverDeps {
  send: (choice: NotificationChoice) => Promise<unknown>
  onState: (state: SaverState) => void
}

export interface ChoiceSaver {
  /** Keeps a choice: at once, or as soon as the one before it has been answered. */
  save: (choice: NotificationChoice) => void
  /** Sends what failed once more. */
  retry: () => void
}

/**
 * Sends choices one after another, and of those that were made meanwhile only the last one: two answers that
 * overtake each other could else leave the older choice in force.
 * @param deps See SaverDeps.
 */
export function createChoiceSaver({ send, onState }: SaverDeps): ChoiceSaver {
  let wanted: NotificationChoice | null = null
  let busy = false

  async function run(): Promise<void> {
    busy = true
    onState({ step: 'saving' })
    while (wanted !== null) {
      const sent: NotificationChoice = wanted
      try {
        await send(sent)
      } catch (error) {
        // A newer choice is another try by itself.
        if (wanted !== sent) continue
        busy = false
        onState({ step: 'failed', error: error instanceof Error ? error : new Error(String(error)) })
        return
      }
      if (wanted === sent) wanted = null
    }
    busy = false
    onState({ step: 'saved' })
  }

  return {
    save(choice) {
      wanted = choice
      if (!busy) void run()
    },
    retry() {
      if (wanted !== null && !busy) void run()
    },
  }
}
