import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import type { RowSelection } from '../ui/row-selection.ts'

export interface Selection<Row> extends RowSelection<Row> {
  /** The selected rows that are there, in the list's order, whether or not the filters show them. */
  rows: readonly Row[]
  /** How many of them the filters hide. */
  hidden: number
  /** Selects these alone. */
  set: (keys: readonly string[]) => void
}

interface SelectionOptions<Row> {
  /** Every row that there is. */
  rows: readonly Row[]
  /** Those that the filters leave, in the order of the list. */
  shown: readonly Row[]
  /** Define it at module level. */
  keyOf: (row: Row) => string
  /** Define it at module level. */
  nameOf: (row: Row) => string
}

/**
 * Which rows of a list are selected. A row stays selected while the list changes around it and while filters hide it; one
 * that is gone is not selected any more.
 */
export function useSelection<Row>(options: SelectionOptions<Row>): Selection<Row> {
  const { rows, shown, keyOf, nameOf } = options
  const [keys, setKeys] = useState<ReadonlySet<string>>(() => new Set())
  const last = useRef<string | null>(null)
  // What a row's checkbox does is asked of the list as it is then, so that rows need not be drawn again for it.
  const latest = useRef(shown)
  useEffect(() => {
    latest.current = shown
  })

  const selected = useMemo(
    () => (keys.size === 0 ? [] : rows.filter(row => keys.has(keyOf(row)))),
    [rows, keys, keyOf],
  )
  const inSight = useMemo(
    () => (keys.size === 0 ? 0 : shown.reduce((count, row) => count + Number(keys.has(keyOf(row))), 0)),
    [shown, keys, keyOf],
  )
  const all = inSight === 0 ? 'none' : inSight === shown.length ? 'all' : 'some'

  const toggle = useCallback(
    (key: string, through: boolean) => {
      const order = latest.current.map(keyOf)
      const from = last.current === null ? -1 : order.indexOf(last.current)
      const to = order.indexOf(key)
      last.current = key
      setKeys(before => {
        const after = new Set(before)
        if (through && from >= 0 && to >= 0) {
          for (const one of order.slice(Math.min(from, to), Math.max(from, to) + 1)) after.add(one)
        } else if (!after.delete(key)) {
          after.add(key)
        }
        return after
      })
    },
    [keyOf],
  )
  const set = useCallback((wanted: readonly string[]) => {
    last.current = null
    setKeys(new Set(wanted))
  }, [])
  const clear = useCallback(() => set([]), [set])
  const toggleAll = useCallback(() => {
    const order = latest.current.map(keyOf)
    last.current = null
    setKeys(before => {
      const after = new Set(before)
      const isAll = order.every(key => after.has(key))
      for (const key of order) {
        if (isAll) after.delete(key)
        else after.add(key)
      }
      return after
    })
  }, [keyOf])

  return {
    rows: selected,
    hidden: selected.length - inSight,
    has: useCallback((key: string) => keys.has(key), [keys]),
    all,
    toggle,
    toggleAll,
    clear,
    set,
    nameOf,
  }
}
