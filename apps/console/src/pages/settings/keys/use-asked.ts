import { type RefObject, useCallback, useRef, useState } from 'react'
import { focusBack } from '../../../ui/focus-back.ts'

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
  const opener = useRef<HTMLElement | null>(null)
  const ask = useCallback((row: Row) => {
    opener.current = document.activeElement instanceof HTMLElement ? document.activeElement : null
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
