import { useId } from 'react'
import classes from './SegmentedFilter.module.css'

interface SegmentedFilterProps<Value extends string> {
  /** What is chosen between, for screen readers. */
  label: string
  value: Value
  onChange: (value: Value) => void
  options: readonly { value: Value; label: string; count?: number; disabled?: boolean }[]
  /** Options share the whole width. */
  fill?: boolean
}

/** One choice out of a few, all of them in sight; a count stands beside its word. */
export function SegmentedFilter<Value extends string>(props: SegmentedFilterProps<Value>) {
  const name = useId()
  return (
    <fieldset className={classes.group} data-fill={props.fill || undefined}>
      <legend className="said">{props.label}</legend>
      {props.options.map(option => (
        <label
          key={option.value}
          className={classes.option}
          data-chosen={option.value === props.value || undefined}
        >
          <input
            type="radio"
            className={classes.input}
            name={name}
            value={option.value}
            checked={option.value === props.value}
            disabled={option.disabled}
            onChange={() => props.onChange(option.value)}
          />
          {option.label}
          {option.count !== undefined && <span className={classes.count}>{option.count}</span>}
        </label>
      ))}
    </fieldset>
  )
}
