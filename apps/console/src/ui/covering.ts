import { useEffect } from 'react'

let covering = 0

/**
 * Says that a dialog lies over another one while its component is drawn, so that Escape, which every open dialog hears,
 * closes it alone and not the form beneath.
 */
export function useCovering(): void {
  useEffect(() => {
    covering += 1
    return () => {
      // The dialog beneath may hear of the very key press that closed the one above only after that.
      setTimeout(() => {
        covering -= 1
      }, 0)
    }
  }, [])
}

/** Whether a dialog lies over the one that asks. */
export const isCovered = (): boolean => covering > 0
