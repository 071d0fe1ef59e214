import { IconChevronRight } from '@tabler/icons-react'
import { type ReactNode, useEffect, useRef } from 'react'
import classes from './Fold.module.css'

interface FoldProps {
  title: string
  /** What it holds, in one line, so that it need not be opened to be known. */
  holds: string
  /** What that costs. */
  cost?: string | undefined
  /** Whether something is wrong within: it opens when that becomes so, and stays as it is when it no longer is. */
  isAtFault?: boolean
  children: ReactNode
}

/** A part of a form that is folded away. */
export function Fold({ title, holds, cost, isAtFault = false, children }: FoldProps) {
  const details = useRef<HTMLDetailsElement>(null)
  useEffect(() => {
    if (isAtFault && details.current) details.current.open = true
  }, [isAtFault])
  return (
    <details ref={details} className={classes.fold}>
      <summary className={classes.head}>
        <IconChevronRight size={16} stroke={1.6} className={classes.mark} aria-hidden="true" />
        <span className={classes.title}>{title}</span>
        <span className={classes.holds} title={holds}>
          {holds}
        </span>
        {cost && <span className={classes.cost}>{cost}</span>}
      </summary>
      <div className={classes.content}>{children}</div>
    </details>
  )
}
