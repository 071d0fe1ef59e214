import type { ToastHost } from '../ui/toast.ts'
import { loadPage } from './load-page.ts'

let wanted = false
const listeners = new Set<() => void>()

/** Draws a toast; the first one loads the code that draws it. */
export const drawToastLazily: ToastHost = toast => {
  void loadPage(() => import('../ui/Toasts.tsx')).then(module => {
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
