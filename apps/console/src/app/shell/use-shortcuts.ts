import { useEffect, useRef } from 'react'
import { createShortcutMatcher, type Shortcut } from './shortcuts.ts'
import { areSingleKeysOn } from './single-keys.ts'

const TYPING =
  'input:not([type="checkbox"], [type="radio"]), textarea, select, [contenteditable], [role="textbox"]'

/**
 * Listens for the shortcuts of the table.
 * @param act Carries one out. It says whether it did anything; only then the browser does nothing of its own.
 */
export function useShortcuts(act: (shortcut: Shortcut) => boolean): void {
  const latest = useRef(act)
  useEffect(() => {
    latest.current = act
  })
  useEffect(() => {
    const match = createShortcutMatcher({ now: () => performance.now(), singleKeysOn: areSingleKeysOn })
    const onKey = (event: KeyboardEvent) => {
      // A key that only holds others down, or that something nearer has used, is no step of a shortcut.
      if (event.defaultPrevented || ['Shift', 'Control', 'Alt', 'Meta', 'AltGraph'].includes(event.key))
        return
      const shortcut = match({
        key: event.key,
        ctrl: event.ctrlKey,
        meta: event.metaKey,
        alt: event.altKey,
        altGraph: event.getModifierState('AltGraph'),
        partial: event.repeat || event.isComposing,
        typing: event.target instanceof Element && event.target.closest(TYPING) !== null,
        inDialog:
          isDialogOpen() ||
          // The palette's buttons are no field, and keep the keys all the same.
          (event.target instanceof Element &&
            event.target.closest('[role="dialog"], [role="menu"]') !== null),
      })
      if (shortcut && latest.current(shortcut)) event.preventDefault()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
}

/** Whether a dialog lies over the page, other than the palette, which takes keys for its own field. */
export function isDialogOpen(): boolean {
  return document.querySelector('[role="dialog"]:not([data-palette])') !== null
}
