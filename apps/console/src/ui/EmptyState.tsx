import type { ReactNode } from 'react'
import classes from './Placeholder.module.css'

interface EmptyStateProps {
  title: string
  /** What to do next, in a sentence. */
  hint?: ReactNode
  action?: ReactNode
}

/** A list with nothing in it: says so, and what to do next. */
export function EmptyState({ title, hint, action }: EmptyStateProps) {
  return (
    <div className={classes.placeholder}>
      <p className={classes.title}>{title}</p>
      {hint && <p className={classes.hint}>{hint}</p>}
      {action && <div className={classes.action}>{action}</div>}
    </div>
  )
}
