import type { ReactNode } from 'react'
import classes from './Part.module.css'
import { type PartName, partId } from './PartsBar.tsx'

interface PartProps {
  name: PartName
  children: ReactNode
}

/** A part of the page that ways lead to: it stops below the header, and takes the focus. */
export function Part({ name, children }: PartProps) {
  return (
    <div id={partId(name)} className={classes.part} tabIndex={-1}>
      {children}
    </div>
  )
}
