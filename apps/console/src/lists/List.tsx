import { PAGE_SIZE_DEFAULT } from '@berth/contract/limits'
import type { ComponentProps } from 'react'
import { Answer, type Asked } from '../ui/Answer.tsx'
import { EmptyState } from '../ui/EmptyState.tsx'
import { Pager } from '../ui/Pager.tsx'
import { type Column, RowTable } from '../ui/RowTable.tsx'
import type { RowSelection } from '../ui/row-selection.ts'

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
  const { rows, query, pages } = props
  return (
    <Answer query={query} data={rows} rows={props.skeletonRows ?? 5}>
      {known => (
        <>
          {known.length === 0 && <EmptyState {...(props.noneFound || props.none)} />}
          {known.length > 0 && (
            <RowTable
              label={props.label}
              columns={props.columns}
              rows={known}
              keyOf={props.keyOf}
              plain={props.plain ?? false}
              selection={props.selection}
            />
          )}
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
