import { type RefObject, useEffect, useRef, useState } from 'react'

/** What an answer needs to be read. */
const COLUMN_PX = 300

/**
 * As many columns as there is room for, and which: on a phone one, and the next one at a touch.
 * @param count How many there are.
 * @returns `box` for the element that holds them; the indexes of those that are shown; what shows the next ones.
 */
export function useColumns(count: number): {
  box: RefObject<HTMLDivElement | null>
  shown: readonly number[]
  showNext: () => void
} {
  const box = useRef<HTMLDivElement>(null)
  const [room, setRoom] = useState(Number.POSITIVE_INFINITY)
  const [first, setFirst] = useState(0)
  useEffect(() => {
    const element = box.current
    if (!element) return
    const observer = new ResizeObserver(([entry]) => {
      setRoom(Math.max(1, Math.floor((entry?.contentRect.width ?? 0) / COLUMN_PX)))
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  const fits = Math.min(room, count)
  const start = first < count ? first : 0
  const shown = Array.from({ length: fits }, (_, index) => (start + index) % count).toSorted((a, b) => a - b)
  return { box, shown, showNext: () => setFirst((start + 1) % count) }
}
