import { useState } from 'react'
import type * as z from 'zod'

/**
 * The parameters in the address of a page outside the shell, which has no router.
 * @param schema An object schema over texts; give every field a `.catch()`, so that a mistyped address still works.
 * @returns The parameters, and a function that changes some of them in place; an empty text leaves the address.
 */
export function useGuestSearch<Output extends Record<string, unknown>>(
  schema: z.ZodType<Output>,
): [Output, (change: Partial<Output>) => void] {
  const [value, setValue] = useState(() =>
    schema.parse(Object.fromEntries(new URLSearchParams(location.search))),
  )
  const change = (part: Partial<Output>) => {
    const next = new URLSearchParams(location.search)
    for (const [name, text] of Object.entries(part)) {
      if (text === undefined || text === '') next.delete(name)
      else next.set(name, String(text))
    }
    history.replaceState(history.state, '', `${location.pathname}${next.size > 0 ? `?${next}` : ''}`)
    setValue({ ...value, ...part })
  }
  return [value, change]
}
