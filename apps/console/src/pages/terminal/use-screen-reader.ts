import { useState } from 'react'

const KEY = 'berth.terminal.screen-reader'

/**
 * Whether the terminal reads its output to screen readers; kept on this device.
 * @returns The choice, and a function that changes it.
 */
export function useScreenReader(): [boolean, (on: boolean) => void] {
  const [on, setOn] = useState(read)
  const change = (next: boolean) => {
    setOn(next)
    try {
      localStorage.setItem(KEY, String(next))
    } catch {
      // Without storage the choice lasts as long as the page.
    }
  }
  return [on, change]
}

function read(): boolean {
  try {
    return localStorage.getItem(KEY) === 'true'
  } catch {
    return false
  }
}
