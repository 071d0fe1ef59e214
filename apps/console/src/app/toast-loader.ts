import type { ToastHost } from '../ui/toast.ts'
import { loadPage } from './load-page.ts'

let wanted = false
const listeners = new Set<() => void>()

const load = () => loadPage(() => import('../ui/Toasts.tsx'))

/** Loads the code that draws toasts once the page is there, so that it need not come when the network does not. */
export function prepareToasts(): void {
  // Where it is lost the first toast tries again.
  void load().catch(() => undefined)
}

/** Draws a toast; the first one loads the code that draws it, where it is not there yet. */
export const drawToastLazily: ToastHost = toast => {
  void load().then(module => {
    wanted = true
    for (const listener of listeners) listener()
    module.drawToast(toast)
  })
}

/** Whether any toast was shown yet. */
export const areToastsWanted = (): boolean => wanted

/**
 * Follows `areToastsWanted`.
 * @param listener Called when it changes.
 * @returns Ends the subscription.
 */
export function subscribeToasts(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
