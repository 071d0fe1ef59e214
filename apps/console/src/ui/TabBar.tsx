import { type KeyboardEvent, useId } from 'react'
import classes from './TabBar.module.css'

interface TabBarProps<Value extends string> {
  /** What the tabs are parts of, for screen readers. */
  label: string
  value: Value
  onChange: (value: Value) => void
  /** The id of the element that shows the chosen one; give it `role="tabpanel"`. */
  panelId: string
  options: readonly { value: Value; label: string; count?: number }[]
  /** The chosen one was clicked, or Enter was pressed on it: what it shows may take the focus. Arrows do not ask for that. */
  onEnter?: () => void
  /** Delete was pressed on the chosen one. */
  onRemove?: () => void
}

const STEPS: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowRight: 1 }

/** Parts of which one is in sight; arrows go from one to the next. */
export function TabBar<Value extends string>(props: TabBarProps<Value>) {
  const { label, value, onChange, panelId, options, onEnter, onRemove } = props
  const id = useId()
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    if (event.key === 'Delete') onRemove?.()
    const step = STEPS[event.key]
    if (step === undefined) return
    event.preventDefault()
    const now = options.findIndex(option => option.value === value)
    const next = options[(now + step + options.length) % options.length]
    if (!next) return
    onChange(next.value)
    document.getElementById(`${id}${next.value}`)?.focus()
  }
  return (
    <div role="tablist" aria-label={label} className={classes.bar} onKeyDown={onKeyDown}>
      {options.map(option => (
        <button
          key={option.value}
          type="button"
          role="tab"
          id={`${id}${option.value}`}
          aria-selected={option.value === value}
          aria-controls={panelId}
          tabIndex={option.value === value ? 0 : -1}
          className={classes.tab}
          onClick={() => {
            onChange(option.value)
            onEnter?.()
          }}
        >
          {option.label}
          {option.count !== undefined && <span className={classes.count}>{option.count}</span>}
        </button>
      ))}
    </div>
  )
}
