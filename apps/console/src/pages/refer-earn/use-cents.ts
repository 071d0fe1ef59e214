import { useCallback } from 'react'
import { useFormat } from '../../ui/format.ts'

/** Writes the figures of the terms, which are cents of the account's currency. */
export function useCents(currency: string): (cents: number) => string {
  const format = useFormat()
  return useCallback(cents => format.cents(cents, currency), [format, currency])
}
