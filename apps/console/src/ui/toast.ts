import { TOAST_MS } from '@berth/contract/limits'

type Tone = 'good' | 'bad' | 'info'

/** Draws one toast; wired at start-up, so that its library is loaded with the first toast and not before. */
export type ToastHost = (toast: { tone: Tone; message: string; ms: number; id: string }) => void

let host: ToastHost | null = null
let shown = 0

/**
 * Wires where toasts are drawn.
 * @param draw See ToastHost.
 */
export function startToasts(draw: ToastHost): void {
  host = draw
}

function show(tone: Tone, message: string, id?: string): void {
  shown += 1
  host?.({ tone, message, ms: TOAST_MS, id: id ?? `toast-${shown}` })
}

/** Short notes at the top of the page, for three seconds (R2.21). The same id is shown once at a time. */
export const toast = {
  good: (message: string, id?: string) => show('good', message, id),
  bad: (message: string, id?: string) => show('bad', message, id),
  info: (message: string, id?: string) => show('info', message, id),
}
