import { useEffect } from 'react'

/** A closing dialog is gone after some ten frames; one that stays is not waited for. */
const FOCUS_BACK_FRAMES = 60

/**
 * Gives the focus back once no dialog is there any more, unless something else has taken it. Mantine does so only from
 * the second opening on where a dialog's code comes with its first.
 * @param target What gets it; asked when the time has come. Null leaves it where it is.
 */
export function focusBack(
  target: () => HTMLElement | null | undefined,
  framesLeft: number = FOCUS_BACK_FRAMES,
): void {
  requestAnimationFrame(() => {
    if (document.querySelector('[role="dialog"]') !== null && framesLeft > 0) {
      focusBack(target, framesLeft - 1)
      return
    }
    // Somebody was quicker.
    if (document.activeElement && document.activeElement !== document.body) return
    target()?.focus({ preventScroll: true })
  })
}

/**
 * For a dialog that is open because the address says so: what had the focus when it opened gets it back.
 * @param opened Whether it is open.
 */
export function useFocusBack(opened: boolean): void {
  useEffect(() => {
    if (!opened) return
    const opener = document.activeElement
    return () => focusBack(() => (opener instanceof HTMLElement && opener.isConnected ? opener : null))
  }, [opened])
}
