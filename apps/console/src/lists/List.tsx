import { PAGE_SIZE_DEFAULT } from '@berth/contract/limits'
import { type ComponentProps, type ComponentType, type ReactNode, Suspense, useEffect } from 'react'
import { lazyPart } from '../app/lazy-part.ts'
import { Answer, type Asked } from '../ui/Answer.tsx'
import { EmptyState } from '../ui/EmptyState.tsx'
import { Pager } from '../ui/Pager.tsx'
import { type BodyProps, type Column, RowTable } from '../ui/RowTable.tsx'
import type { RowSelection } from '../ui/row-selection.ts'

/** Of more rows only those are drawn that are seen. */
const DRAWN_ROWS_MAX = 50

// What finds out which rows are seen is for the few whose lists are so long.
const LongRows = lazyPart(() =>
  import('../ui/LongRows.tsx').then(module => module.LongRows as ComponentType<BodyProps<unknown>>),
)

interface ListProps<Row> {
  /** What the list holds, for screen readers. */
  label: string
  query: Asked
  /** Undefined while nothing is known. */
  rows: readonly Row[] | undefined
  keyOf: (row: Row) => string
  columns: readonly Column<Row>[]
  /** No header row is drawn. */
  plain?: boolean
  /** Rows can be selected; `useSelection` makes it. */
  selection?: RowSelection<Row>
  /** As `RowTable` has it. */
  below?: (row: Row) => ReactNode
  /** As many as there will most likely be. */
  skeletonRows?: number
  /** Said of a list that has nothing in it: why, and what to do next. */
  none: ComponentProps<typeof EmptyState>
  /** Said instead while filters narrow the list. */
  noneFound?: ComponentProps<typeof EmptyState> | false | undefined
  /** Of a list whose pages are the server's. */
  pages?: { page: number; total: number | undefined; onChange: (page: number) => void }
}

/**
 * A list in whichever state it is: not there yet, failed with a way to try again, empty with what to do next, nothing
 * that matches, or its rows and pages. Rows that are there stay while a later look fails, and say of when they are.
 */
export function List<Row>(props: ListProps<Row>) {
  const { query, pages } = props
  const isBeyond = useLastPage(props)
  return (
    <Answer query={query} data={isBeyond ? undefined : props.rows} rows={props.skeletonRows ?? 5}>
      {known => (
        <>
          {known.length === 0 && <EmptyState {...(props.noneFound || props.none)} />}
          {known.length > 0 && <Rows {...props} rows={known} />}
          {pages?.total !== undefined && (
            <Pager
              page={pages.page}
              pageSize={PAGE_SIZE_DEFAULT}
              total={pages.total}
              onChange={pages.onChange}
            />
          )}
        </>
      )}
    </Answer>
  )
}

/**
 * Turns to the last page where the address names one behind it: an old link, or rows that are gone since.
 * @returns Whether there are rows, and none on this page: then nothing is said of the list before the turn.
 */
function useLastPage<Row>({ rows, pages }: ListProps<Row>): boolean {
  const { page = 1, total = 0, onChange } = pages ?? {}
  const isBeyond = rows?.length === 0 && total > 0
  const last = Math.max(1, Math.ceil(total / PAGE_SIZE_DEFAULT))
  useEffect(() => {
    if (isBeyond && page > last) onChange?.(last)
  }, [isBeyond, page, last, onChange])
  return isBeyond
}

function Rows<Row>({
  rows,
  label,
  columns,
  keyOf,
  plain = false,
  selection,
  below,
}: ListProps<Row> & { rows: readonly Row[] }) {
  const table = { label, columns, keyOf, plain, selection, below }
  if (rows.length <= DRAWN_ROWS_MAX) return <RowTable {...table} rows={rows} />
  return (
    <Suspense fallback={<RowTable {...table} rows={rows.slice(0, DRAWN_ROWS_MAX)} />}>
      <RowTable {...table} rows={rows} Body={LongRows as ComponentType<BodyProps<Row>>} />
    </Suspense>
  )
}
