import type { KeyboardEvent } from 'react'

/** What browsers say of a key that an input method has taken, where they say nothing else. */
const TAKEN_KEY_CODE = 229

/** Whether a key belongs to a word that an input method is still making: Enter then chooses it, and sends nothing. */
export function isComposing({ nativeEvent, keyCode }: KeyboardEvent): boolean {
  return nativeEvent.isComposing || keyCode === TAKEN_KEY_CODE
}
