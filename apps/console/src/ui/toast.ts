import { TOAST_MS } from '@berth/contract/limits'

type Tone = 'good' | 'bad' | 'info'

/** Where a toast leads. */
export interface ToastLink {
  label: string
  /** A path of the console. */
  href: string
  /** Goes there without loading the page anew. */
  follow: () => void
}

/** What leads somewhere stays long enough to be reached. */
const TOAST_WITH_LINK_MS = 12_000

/** Draws one toast; wired at start-up, so that its library is loaded with the first toast and not before. */
export type ToastHost = (toast: {
  tone: Tone
  message: string
  ms: number
  id: string
  link: ToastLink | null
}) => void

let host: ToastHost | null = null
let shown = 0

/**
 * Wires where toasts are drawn.
 * @param draw See ToastHost.
 */
export function startToasts(draw: ToastHost): void {
  host = draw
}

function show(tone: Tone, message: string, { id, link }: ToastOptions = {}): void {
  shown += 1
  const ms = link ? TOAST_WITH_LINK_MS : TOAST_MS
  host?.({ tone, message, ms, id: id ?? `toast-${shown}`, link: link ?? null })
}

interface ToastOptions {
  /** The same id is shown once at a time. */
  id?: string
  link?: ToastLink
}

/** Short notes at the top of the page, for three seconds (R2.21). */
export const toast = {
  good: (message: string, options?: ToastOptions) => show('good', message, options),
  bad: (message: string, options?: ToastOptions) => show('bad', message, options),
  info: (message: string, options?: ToastOptions) => show('info', message, options),
}
