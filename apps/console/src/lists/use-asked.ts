import { type RefObject, useCallback, useRef, useState } from 'react'
import { focusBack } from '../ui/focus-back.ts'

export interface Asked<What> {
  /** What the dialog is about: kept while it closes, so that it does not go blank. Null before the first. */
  what: What | null
  opened: boolean
  /** Opens the dialog. `opener` gets the focus back; left out, what has it now does. */
  ask: (what: What, opener?: HTMLElement | null) => void
  close: () => void
  /** For an element around a button that stays: it takes the focus where the row that had it is gone. */
  fallback: RefObject<HTMLDivElement | null>
}

/**
 * Which dialog of a list is open, and for what.
 * @param options.fallbackOf Finds what takes the focus where the opener is gone: the row's menu, say.
 */
export function useAsked<What>(
  options: { fallbackOf?: (what: What) => HTMLElement | null | undefined } = {},
) {
  const { fallbackOf } = options
  const [asked, setAsked] = useState<{ what: What | null; opened: boolean }>({ what: null, opened: false })
  const fallback = useRef<HTMLDivElement>(null)
  const opener = useRef<HTMLElement | null>(null)
  const ask = useCallback<Asked<What>['ask']>((what, from = focused()) => {
    opener.current = from
    setAsked({ what, opened: true })
  }, [])
  const { what, opened } = asked
  const close = useCallback(() => {
    if (opened) {
      focusBack(() => {
        if (opener.current?.isConnected) return opener.current
        return (what !== null && fallbackOf?.(what)) || fallback.current?.querySelector('button')
      })
    }
    setAsked(before => ({ ...before, opened: false }))
  }, [what, opened, fallbackOf])
  return { what, opened, ask, close, fallback } satisfies Asked<What>
}

function focused(): HTMLElement | null {
  return document.activeElement instanceof HTMLElement ? document.activeElement : null
}
