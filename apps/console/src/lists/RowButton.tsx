import type { ComponentProps } from 'react'
import classes from './RowButton.module.css'

/**
 * A row's likeliest action. It looks as a small Mantine button does and is a plain one: two come with each frame while a
 * long list is scrolled, and Mantine's takes longer to draw than the rest of its row.
 */
export function RowButton({ children, ...rest }: Omit<ComponentProps<'button'>, 'type' | 'className'>) {
  return (
    <button type="button" className={classes.button} {...rest}>
      <span>{children}</span>
    </button>
  )
}
