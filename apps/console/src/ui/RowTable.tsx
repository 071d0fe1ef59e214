import type { ReactNode } from 'react'
import classes from './RowTable.module.css'

/** A column of a table: defined at module level, or memoised. */
export interface Column<Row> {
  key: string
  /** Empty for a column of buttons, which then needs `said`. */
  header: string
  /** The header for screen readers, where the drawn one is empty. */
  said?: string
  cell: (row: Row) => ReactNode
  align?: 'end'
  /** A CSS width; columns without one share what is left. */
  width?: string
  /** Left out where there is not room for everything. */
  wideOnly?: boolean
  /**
   * Where it stands in a row of two lines, which a narrow table has: what the row is (`whole` where its second line is
   * too good to lose), what is under that, what is at the end of both lines, and what can be done. Null leaves it out.
   */
  narrow: 'name' | 'whole' | 'under' | 'end' | 'actions' | null
}

interface RowTableProps<Row> {
  /** What the table lists, for screen readers. */
  label: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row) => string
  /** No header row is drawn; it stays for screen readers. */
  plain?: boolean
}

/**
 * Rows of two lines each. Where the table itself is narrow, a row is two lines in all. Columns keep their widths
 * whatever stands in them. A button with `data-row-target` is what its row is for: in a narrow table the whole row is it.
 */
export function RowTable<Row>({ label, columns, rows, keyOf, plain = false }: RowTableProps<Row>) {
  return (
    <div className={classes.room}>
      <table className={classes.table}>
        <caption className="said">{label}</caption>
        {/* Widths stand here, for a header that is not drawn gives none. */}
        <colgroup>
          {columns.map(column => (
            <col key={column.key} data-wide={column.wideOnly || undefined} style={{ width: column.width }} />
          ))}
        </colgroup>
        <thead className={plain ? 'said' : classes.head}>
          <tr>
            {columns.map(column => (
              <th
                key={column.key}
                scope="col"
                data-align={column.align}
                data-wide={column.wideOnly || undefined}
              >
                {column.header || <span className="said">{column.said}</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(row => (
            <tr key={keyOf(row)} className={classes.row}>
              {columns.map(column => (
                <td
                  key={column.key}
                  data-align={column.align}
                  data-wide={column.wideOnly || undefined}
                  data-narrow={column.narrow ?? 'none'}
                >
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

interface TwoLinesProps {
  /** What it is. */
  first: ReactNode
  /** What one would ask next. */
  second?: ReactNode
  strong?: boolean
  /** The second line is an id or an address. */
  mono?: boolean
}

/** The content of a cell: what it is, then what one would ask next. */
export function TwoLines({ first, second, strong = false, mono = false }: TwoLinesProps) {
  return (
    <span className={classes.lines}>
      <span className={classes.first} data-strong={strong || undefined}>
        {first}
      </span>
      {second !== undefined && (
        <span className={mono ? `${classes.second} mono` : classes.second}>{second}</span>
      )}
    </span>
  )
}
