import { IconX } from '@tabler/icons-react'
import classes from './FilterPill.module.css'

interface FilterPillProps {
  /** What the filter asks for. */
  text: string
  /** What the button is called, for those who do not see it. */
  label: string
  onRemove: () => void
}

/** A filter that is on; pressed, it is off. */
export function FilterPill({ text, label, onRemove }: FilterPillProps) {
  return (
    <button type="button" className={classes.pill} aria-label={label} onClick={onRemove}>
      {text}
      <IconX size={13} aria-hidden="true" />
    </button>
  )
}
