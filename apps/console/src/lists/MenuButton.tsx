import type { ComponentPropsWithRef } from 'react'
import classes from './RowButton.module.css'

interface MenuButtonProps extends Omit<ComponentPropsWithRef<'button'>, 'type' | 'aria-label'> {
  /** What it opens, for screen readers. */
  label: string
}

/** The three dots of a row. A plain button, as `RowButton` is. */
export function MenuButton({ label, className = '', ...rest }: MenuButtonProps) {
  return (
    <button
      type="button"
      className={`${classes.dots} ${className}`}
      aria-haspopup="menu"
      aria-label={label}
      {...rest}
    />
  )
}
