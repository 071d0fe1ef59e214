import type { ReactNode } from 'react'
import classes from './Card.module.css'

interface CardProps {
  title?: string
  /** To the right of the title: a small button, a figure, a word. */
  aside?: ReactNode
  /** `none` for lists that reach the card's edge. */
  padding?: 'normal' | 'none'
  children: ReactNode
}

/** A surface with a line around it. */
export function Card({ title, aside, padding = 'normal', children }: CardProps) {
  return (
    <section className={classes.card} data-padding={padding}>
      {(title || aside) && (
        <div className={classes.head}>
          {title && <h2 className={classes.title}>{title}</h2>}
          {aside && <div className={classes.aside}>{aside}</div>}
        </div>
      )}
      {children}
    </section>
  )
}
