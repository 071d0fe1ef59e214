import { useLayoutEffect, useRef, useState } from 'react'
import classes from './LogLines.module.css'
import { Marked } from './Marked.tsx'

/** The height of a line, as the style sheet has it. */
const LINE_PX = 20
/** Lines that are drawn above and below what is seen, so that a quick hand sees no gap. */
const BEYOND_LINES = 20
/** Whoever reads so near the end wants to see what comes. */
const NEAR_END_PX = 24

interface LogLinesProps {
  /** What is shown, for screen readers. */
  label: string
  lines: readonly { at: number; line: string }[]
  /** What is searched for; it is marked where it stands. */
  wanted: string
  /** The end stays in sight. */
  follows: boolean
  /** Told when somebody scrolls away from the end, or back to it. */
  onFollow: (follows: boolean) => void
  /** What is said where there are no lines. */
  none: string
}

/** Lines of a log. Only those are drawn that are seen, so that a long log is no heavier than a short one. */
export function LogLines({ label, lines, wanted, follows, onFollow, none }: LogLinesProps) {
  const box = useRef<HTMLElement>(null)
  const [seen, setSeen] = useState({ top: 0, height: 400 })
  // biome-ignore lint/correctness/useExhaustiveDependencies: the end moves with the lines.
  useLayoutEffect(() => {
    const element = box.current
    if (!element) return
    if (follows) element.scrollTop = element.scrollHeight
    look(element)
  }, [lines, follows])

  function look(element: HTMLElement): void {
    const next = { top: element.scrollTop, height: element.clientHeight }
    setSeen(before => (before.top === next.top && before.height === next.height ? before : next))
  }

  if (lines.length === 0) return <p className={classes.none}>{none}</p>
  const from = Math.max(0, Math.floor(seen.top / LINE_PX) - BEYOND_LINES)
  const until = Math.ceil((seen.top + seen.height) / LINE_PX) + BEYOND_LINES
  return (
    <section
      ref={box}
      className={`${classes.box} mono`}
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: keys scroll what has the focus
      tabIndex={0}
      onScroll={({ currentTarget }) => {
        look(currentTarget)
        const { scrollHeight, scrollTop, clientHeight } = currentTarget
        const isNearEnd = scrollHeight - scrollTop - clientHeight < NEAR_END_PX
        if (isNearEnd !== follows) onFollow(isNearEnd)
      }}
    >
      <div className={classes.all} style={{ height: lines.length * LINE_PX }}>
        <div style={{ transform: `translateY(${from * LINE_PX}px)` }}>
          {lines.slice(from, until).map(({ at, line }) => (
            <div key={at} className={classes.line}>
              {wanted === '' ? line : <Marked line={line} wanted={wanted} />}
            </div>
          ))}
        </div>
      </div>
    </section>
  )
}
