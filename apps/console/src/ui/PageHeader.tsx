import type { ReactNode } from 'react'
import classes from './PageHeader.module.css'

interface PageHeaderProps {
  title: string
  /** What one asks next about the whole page: what it burns, how long it lasts. */
  second?: ReactNode
  /** One primary action at most. */
  actions?: ReactNode
}

/** The head of a page: its only h1, a second line, and its actions. */
export function PageHeader({ title, second, actions }: PageHeaderProps) {
  return (
    <header className={classes.header}>
      <div className={classes.row}>
        <h1 className={classes.title}>{title}</h1>
        {actions && <div className={classes.actions}>{actions}</div>}
      </div>
      {second && <p className={classes.second}>{second}</p>}
    </header>
  )
}
