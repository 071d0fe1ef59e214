import type { ReactNode } from 'react'
import { Card } from '../../ui/Card.tsx'
import classes from './SectionCard.module.css'

interface SectionCardProps {
  title: string
  /** What this is, and what one would ask next about it. */
  lead: ReactNode
  aside?: ReactNode
  /** `rows` reach the card's edge under a line; `form` is inset. */
  kind?: 'form' | 'rows'
  children?: ReactNode
}

/** A card of the settings: its title, a sentence about it, and its content. */
export function SectionCard({ title, lead, aside, kind = 'form', children }: SectionCardProps) {
  return (
    <Card padding="none">
      <div className={classes.head}>
        <div className={classes.words}>
          <h2 className={classes.title}>{title}</h2>
          <p className={classes.lead}>{lead}</p>
        </div>
        {aside && <div className={classes.aside}>{aside}</div>}
      </div>
      {children && <div className={classes[kind]}>{children}</div>}
    </Card>
  )
}
