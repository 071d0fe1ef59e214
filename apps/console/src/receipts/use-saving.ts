import { useCallback, useState } from 'react'
import { saveInvoice } from './save-invoice.ts'

/** Saves documents one at a time. @returns Which one is under way, and what begins it. */
export function useSaving(): { saving: string | null; save: (id: string) => void } {
  const [saving, setSaving] = useState<string | null>(null)
  const save = useCallback((id: string) => {
    setSaving(id)
    saveInvoice(id)
      // What goes wrong has been said.
      .catch(() => undefined)
      .finally(() => setSaving(null))
  }, [])
  return { saving, save }
}
