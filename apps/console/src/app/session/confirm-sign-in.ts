import { useSyncExternalStore } from 'react'

/** Somebody is asked, and these calls wait for the answer. */
let waiting: ((confirmed: boolean) => void)[] = []
const listeners = new Set<() => void>()

/**
 * Asks whoever has the session to confirm who they are; calls that ask at the same time share one question.
 * @returns Whether they did; false at once where no page is there to ask on.
 */
export function askToConfirm(): Promise<boolean> {
  if (listeners.size === 0) return Promise.resolve(false)
  return new Promise(resolve => {
    waiting.push(resolve)
    tell()
  })
}

/**
 * Answers those who asked.
 * @param confirmed False where the customer turned back.
 */
export function answerConfirmation(confirmed: boolean): void {
  const answered = waiting
  waiting = []
  tell()
  for (const answer of answered) answer(confirmed)
}

/** Whether somebody is asked now; the component follows changes, and is taken to show the question. */
export function useConfirmationAsked(): boolean {
  return useSyncExternalStore(subscribe, isConfirmationAsked)
}

const isConfirmationAsked = () => waiting.length > 0

function tell(): void {
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}
