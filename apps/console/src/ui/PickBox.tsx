import { type KeyboardEvent, type MouseEvent, useEffect, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import classes from './PickBox.module.css'
import type { RowSelection } from './row-selection.ts'

interface PickRowProps {
  /** The row's key. */
  id: string
  label: string
  isPicked: boolean
  onPick: RowSelection<unknown>['toggle']
}

/**
 * The checkbox of a row. With Shift, by pointer or by keyboard, everything from the row before it is selected too; the
 * arrows lead to the checkboxes of the rows beside it.
 */
export function PickRow({ id, label, isPicked, onPick }: PickRowProps) {
  // What a browser makes of a pressed space key does not always say that Shift was held.
  const isShiftHeld = useRef(false)
  const walk = (event: KeyboardEvent<HTMLInputElement>) => {
    isShiftHeld.current = event.shiftKey
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    const boxes = [
      ...(event.currentTarget.closest('tbody')?.querySelectorAll<HTMLInputElement>('[data-pick-box]') ?? []),
    ]
    const next = boxes[boxes.indexOf(event.currentTarget) + step]
    next?.focus()
    if (next && event.shiftKey) onPick(next.value, true)
  }
  return (
    <label className={classes.room} onMouseDown={keepText}>
      <input
        type="checkbox"
        className={classes.box}
        data-pick-box
        aria-label={label}
        value={id}
        checked={isPicked}
        onKeyDown={walk}
        onKeyUp={({ shiftKey }) => {
          isShiftHeld.current = shiftKey
        }}
        onBlur={() => {
          isShiftHeld.current = false
        }}
        onChange={({ nativeEvent }) =>
          onPick(
            id,
            isShiftHeld.current || (nativeEvent instanceof window.MouseEvent && nativeEvent.shiftKey),
          )
        }
      />
    </label>
  )
}

/** The checkbox over all of them. */
export function PickAll({ all, onToggle }: { all: RowSelection<unknown>['all']; onToggle: () => void }) {
  const { t } = useTranslation('common')
  const box = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (box.current) box.current.indeterminate = all === 'some'
  }, [all])
  return (
    <label className={classes.room} data-all>
      <input
        ref={box}
        type="checkbox"
        className={classes.box}
        aria-label={t('row.select_all')}
        checked={all === 'all'}
        onChange={onToggle}
      />
      <span className={classes.words} aria-hidden="true">
        {t('row.select_all')}
      </span>
    </label>
  )
}

/** With Shift a browser would mark the text between two clicks. */
function keepText(event: MouseEvent<HTMLLabelElement>): void {
  if (!event.shiftKey) return
  event.preventDefault()
  event.currentTarget.querySelector('input')?.focus()
}
