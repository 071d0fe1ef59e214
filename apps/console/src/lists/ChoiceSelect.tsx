import type { ComponentProps } from 'react'
import classes from './ChoiceSelect.module.css'

/** A choice in the bar of a list, whose options say what it is of; `aria-label` says it to those who do not see it. */
export function ChoiceSelect({ className = '', ...rest }: ComponentProps<'select'>) {
  return <select className={`${classes.choice} ${className}`.trim()} {...rest} />
}
