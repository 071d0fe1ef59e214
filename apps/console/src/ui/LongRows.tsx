import { defaultRangeExtractor, type Range, useWindowVirtualizer } from '@tanstack/react-virtual'
import { Fragment, useCallback, useLayoutEffect, useRef, useState } from 'react'
import classes from './RowTable.module.css'
import type { BodyProps } from './RowTable.tsx'

/** The height of a row of a wide table at the default text size, until it is measured. */
const ROW_PX_GUESS = 61
const estimateSize = () => ROW_PX_GUESS
/** Rows that are drawn above and below what is seen, so that a quick hand sees no gap, and the arrow keys find the next. */
const BEYOND_ROWS = 6

/**
 * The rows of a long table. Only those are drawn that are seen, and the one that has the focus, so that it keeps that; what
 * is between is room of the same height. Screen readers are told by numbers which rows these are.
 */
export function LongRows<Row>({ rows, keyOf, columnCount, draw }: BodyProps<Row>) {
  const body = useRef<HTMLTableSectionElement>(null)
  const focused = useRef<number | null>(null)
  const [top, setTop] = useState(0)
  useLayoutEffect(() => {
    const look = () => setTop((body.current?.getBoundingClientRect().top ?? 0) + window.scrollY)
    look()
    // Whatever is above it may grow, and lines break elsewhere in another width.
    const observer = new ResizeObserver(look)
    observer.observe(document.body)
    return () => observer.disconnect()
  }, [])
  const withFocused = useCallback((range: Range) => {
    const seen = defaultRangeExtractor(range)
    const at = focused.current
    if (at === null || at >= range.count || seen.includes(at)) return seen
    return [...seen, at].sort((one, other) => one - other)
  }, [])
  // Another function would have the place of every row reckoned anew, in each frame.
  const getItemKey = useCallback((at: number) => keyOf(rows[at] as Row), [rows, keyOf])
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize,
    overscan: BEYOND_ROWS,
    scrollMargin: top,
    getItemKey,
    rangeExtractor: withFocused,
  })
  const items = virtual.getVirtualItems()
  const end = virtual.getTotalSize()
  const tops = items.map(({ start }) => start - top)
  return (
    <tbody
      ref={body}
      onFocus={({ target }) => {
        const at = target.closest<HTMLElement>('tr[data-index]')?.dataset.index
        focused.current = at === undefined ? null : Number(at)
      }}
      onBlur={() => {
        focused.current = null
      }}
    >
      {items.map(({ index, key, size }, at) => {
        const before = at === 0 ? 0 : (tops[at - 1] ?? 0) + (items[at - 1]?.size ?? 0)
        const row = rows[index]
        return (
          <Fragment key={key as string}>
            <Gap height={(tops[at] ?? 0) - before} columnCount={columnCount} />
            {row !== undefined && draw(row, { index, measure: virtual.measureElement })}
            {at === items.length - 1 && (
              <Gap height={end - (tops[at] ?? 0) - size} columnCount={columnCount} />
            )}
          </Fragment>
        )
      })}
    </tbody>
  )
}

/** Room of rows that are not drawn. */
function Gap({ height, columnCount }: { height: number; columnCount: number }) {
  if (height <= 0) return null
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a row of nothing, which takes no focus
    <tr className={classes.gap} aria-hidden="true">
      <td colSpan={columnCount} style={{ height }} />
    </tr>
  )
}
