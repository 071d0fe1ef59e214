import { useNavigate, useRouter, useSearch } from '@tanstack/react-router'
import { useCallback, useMemo } from 'react'
import * as z from 'zod'

/**
 * Reads a query string as plain texts: what a person sees in the address is what a page gets.
 * @param search With or without its question mark. Of a repeated name the last one counts.
 */
export function parseSearch(search: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(search))
}

/**
 * Writes search values as a query string.
 * @param values Empty texts, null and undefined are left out, so that an address holds only what was chosen.
 * @returns With its question mark, or an empty text.
 */
export function stringifySearch(values: Record<string, unknown>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && value !== null && value !== '') query.set(name, String(value))
  }
  return query.size > 0 ? `?${query}` : ''
}

/**
 * Search values for a link, whose type the router can only know for a tree that is written out by hand.
 * @param values Texts by name.
 */
export function searchOf(values: Readonly<Record<string, string>>): never {
  return values as never
}

/**
 * A page's filters, kept in its address.
 * @param schema An object schema over texts; give every field a `.catch()`, so that a mistyped address still works.
 * @returns The filters, and a function that changes some of them in place.
 */
export function usePageSearch<Output extends Record<string, unknown>>(
  schema: z.ZodType<Output>,
): [Output, (change: Partial<Output>) => void] {
  const raw = useSearch({ strict: false })
  const navigate = useNavigate()
  const value = useMemo(() => schema.parse(raw), [schema, raw])
  const change = useCallback(
    (part: Partial<Output>) =>
      void navigate({
        to: '.',
        search: (before: Record<string, unknown>) => ({ ...before, ...part }),
        replace: true,
        resetScroll: false,
      }),
    [navigate],
  )
  return [value, change]
}

declare module '@tanstack/react-router' {
  interface HistoryState {
    /** The name under which the entry has something opened that the entry before it has not. */
    opened?: string
  }
}

/** Longer than any id that a page opens something by. */
const OPENED_CHARS_MAX = 200

/**
 * What of a page is opened, kept in its address under a name: a link and a reload open it again, and the way back closes
 * it before it leaves the page.
 * @returns Its id, empty where nothing is; and a function that opens another one, or closes by an empty text.
 */
export function useOpened(name: string): [string, (id: string) => void] {
  const schema = useMemo(() => z.object({ [name]: z.string().max(OPENED_CHARS_MAX).catch('') }), [name])
  const [{ [name]: opened = '' }] = usePageSearch(schema)
  const navigate = useNavigate()
  const { history } = useRouter()
  const open = useCallback(
    (id: string) => {
      const entry = history.location.state.opened
      if (id === '' && entry === name) {
        history.back()
        return
      }
      void navigate({
        to: '.',
        search: (before: Record<string, unknown>) => ({ ...before, [name]: id }),
        replace: id === '' || opened !== '',
        state: opened === '' ? { opened: name } : true,
        resetScroll: false,
      })
    },
    [navigate, history, name, opened],
  )
  return [opened, open]
}
