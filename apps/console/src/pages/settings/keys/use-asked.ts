import { type RefObject, useCallback, useRef, useState } from 'react'

/** A closing dialog is gone after some ten frames; one that stays is not waited for. */
const FOCUS_BACK_FRAMES = 60

export interface Asked<Row> {
  /** What the dialog is about: kept while it closes, so that it does not go blank. Null before the first. */
  row: Row | null
  opened: boolean
  ask: (row: Row) => void
  close: () => void
  /** For the button that adds one: it takes the focus where the row that had it is gone. */
  fallback: RefObject<HTMLDivElement | null>
}

/** Which row a dialog is open for. */
export function useAsked<Row>(): Asked<Row> {
  const [asked, setAsked] = useState<{ row: Row | null; opened: boolean }>({ row: null, opened: false })
  const fallback = useRef<HTMLDivElement>(null)
  const opener = useRef<Element | null>(null)
  const ask = useCallback((row: Row) => {
    opener.current = document.activeElement
    setAsked({ row, opened: true })
  }, [])
  const close = useCallback(() => {
    setAsked(before => ({ ...before, opened: false }))
    focusBack(() =>
      opener.current?.isConnected ? opener.current : fallback.current?.querySelector('button'),
    )
  }, [])
  return { ...asked, ask, close, fallback }
}

/** Gives the focus back once the dialog is gone: one that is loaded while it opens does not do so itself. */
function focusBack(find: () => Element | null | undefined, framesLeft = FOCUS_BACK_FRAMES): void {
  requestAnimationFrame(() => {
    const isOpen = document.querySelector('[role="dialog"]') !== null
    if (isOpen && framesLeft > 0) return focusBack(find, framesLeft - 1)
    const { activeElement } = document
    // Somebody was quicker.
    if (activeElement && activeElement !== document.body) return
    const target = find()
    if (target instanceof HTMLElement) target.focus({ preventScroll: true })
  })
}
