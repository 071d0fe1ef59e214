import { useState } from 'react'
import { told } from '../api/use-change.ts'
import { saveText } from '../ui/save-text.ts'

/** Tells programs that sort out texts by themselves that this one is UTF-8: spreadsheets would guess otherwise. */
const BYTE_ORDER_MARK = '\uFEFF'

/**
 * Saves tables as files, one at a time. A table that is refused is not saved, and why has been said.
 * @returns Whether one is under way, and what begins it: the file's name and what reads its text.
 */
export function useCsv(): { busy: boolean; save: (name: string, read: () => Promise<string>) => void } {
  const [busy, setBusy] = useState(false)
  async function save(name: string, read: () => Promise<string>): Promise<void> {
    setBusy(true)
    try {
      saveText(name, BYTE_ORDER_MARK + (await read()), 'text/csv')
    } finally {
      setBusy(false)
    }
  }
  return { busy, save: (name, read) => void save(name, read).catch(told) }
}
