import { type RefObject, useEffect, useRef, useState } from 'react'

/** So near to the end counts as there: a line is taller. */
const NEAR_PX = 24

/**
 * Keeps what scrolls at its end while that grows, until somebody scrolls away from it.
 * @param count Of what is shown; one more brings it back to its end.
 * @returns Refs for what scrolls and for what grows in it, whether it is at its end, and what brings it there.
 */
export function useStickToEnd(count: number): {
  scroller: RefObject<HTMLElement | null>
  content: RefObject<HTMLDivElement | null>
  isAtEnd: boolean
  toEnd: () => void
} {
  const scroller = useRef<HTMLElement>(null)
  const content = useRef<HTMLDivElement>(null)
  const isStuck = useRef(true)
  const [isAtEnd, setAtEnd] = useState(true)
  const toEnd = () => {
    const box = scroller.current
    if (!box) return
    isStuck.current = true
    box.scrollTop = box.scrollHeight
  }
  useEffect(() => {
    const box = scroller.current
    const grown = content.current
    if (!box || !grown) return
    let before = { top: 0, all: 0, seen: 0 }
    const onScroll = () => {
      const now = { top: box.scrollTop, all: box.scrollHeight, seen: box.clientHeight }
      // What is laid out anew scrolls by itself: only who scrolls up in what stays as it is wants to stay there.
      const isMoved = now.top < before.top && now.all === before.all && now.seen === before.seen
      if (now.all - now.top - now.seen <= NEAR_PX) isStuck.current = true
      else if (isMoved) isStuck.current = false
      before = now
      setAtEnd(isStuck.current)
    }
    const observer = new ResizeObserver(() => {
      if (isStuck.current) box.scrollTop = box.scrollHeight
    })
    observer.observe(grown)
    observer.observe(box)
    box.addEventListener('scroll', onScroll, { passive: true })
    return () => {
      observer.disconnect()
      box.removeEventListener('scroll', onScroll)
    }
  }, [])
  // biome-ignore lint/correctness/useExhaustiveDependencies: one more brings it back.
  useEffect(toEnd, [count])
  return { scroller, content, isAtEnd, toEnd }
}
