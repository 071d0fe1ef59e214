import type { ComponentProps } from 'react'
import classes from './LinkButton.module.css'

/** A button that reads as a part of its sentence, or as a small way beside the main one. */
export function LinkButton({ className = '', ...props }: Omit<ComponentProps<'button'>, 'type'>) {
  return <button type="button" className={`${classes.link} ${className}`} {...props} />
}
