import { useDebouncedCallback } from '@mantine/hooks'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import * as z from 'zod'
import { usePageSearch } from '../app/search.ts'

/** Bounds what an address can make a page search for. */
export const FIND_CHARS_MAX = 100
/** The address and the gateway hear of a search once its typing pauses this long. */
const FIND_PAUSE_MS = 250
const PAGE_MAX = 100_000

/** The text that a list is searched for, for the schema of its filters. */
export const findText = z.string().max(FIND_CHARS_MAX).catch('')

/** The page of a list whose pages are the server's, for the schema of its filters. */
export const pageNumber = z.coerce.number().int().min(1).max(PAGE_MAX).catch(1)

export interface Filters<Values> {
  /** As the address holds them. */
  values: Values
  /** Changes some of them in place. Whatever is narrowed otherwise begins at its first page. */
  change: (part: Partial<Values>) => void
  /** The text of the search field, which the address follows. */
  typed: string
  find: (text: string) => void
  /** Shows all again. */
  reset: () => void
  /** Whether anything but the page is other than at first. */
  narrowed: boolean
}

/**
 * The filters of a list, kept in the page's address: a reload, a link and the way back show the same rows.
 * @param schema An object schema over texts, each field with a `.catch()`: what it catches shows all. The fields `q`
 *   (`findText`) and `page` (`pageNumber`) are the search and the page.
 */
export function useFilters<Values extends Record<string, unknown>>(
  schema: z.ZodType<Values>,
): Filters<Values> {
  const [values, setSearch] = usePageSearch(schema)
  const atFirst = useMemo(() => schema.parse({}), [schema])
  const q = textOf(values)
  const [typed, setTyped] = useState(q)
  const kept = useRef(q)

  const change = useCallback(
    (part: Partial<Values>) => {
      const first = 'page' in atFirst && !('page' in part) ? { page: 1 } : {}
      setSearch({ ...first, ...part } as Partial<Values>)
    },
    [atFirst, setSearch],
  )
  const keepTyped = useDebouncedCallback((text: string) => {
    kept.current = text
    change({ q: text } as Partial<Values> & { q: string })
  }, FIND_PAUSE_MS)

  useEffect(() => {
    // The address was changed from elsewhere, by the palette or by the way back.
    if (q === kept.current) return
    kept.current = q
    setTyped(q)
  }, [q])

  return {
    values,
    change,
    typed,
    find: text => {
      setTyped(text)
      keepTyped(text)
    },
    reset: () => {
      keepTyped.cancel()
      kept.current = ''
      setTyped('')
      change(atFirst)
    },
    narrowed: Object.keys(atFirst).some(name => name !== 'page' && values[name] !== atFirst[name]),
  }
}

function textOf(values: Record<string, unknown>): string {
  return typeof values.q === 'string' ? values.q : ''
}
