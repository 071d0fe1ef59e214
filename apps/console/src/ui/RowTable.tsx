import type { TFunction } from 'i18next'
import { type ComponentType, Fragment, type KeyboardEvent, memo, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { PickAll, PickRow } from './PickBox.tsx'
import classes from './RowTable.module.css'
import type { RowSelection } from './row-selection.ts'

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
   * too good to lose), what is under that, what is at the end of the lines, and what can be done. `last` is a third line
   * under both, for what neither has room for. Each place is for one column: two would stand over each other. Null
   * leaves it out.
   */
  narrow: 'name' | 'whole' | 'under' | 'last' | 'end' | 'actions' | null
}

/** Where a row of a long table stands in it. */
interface Place {
  /** From 0. */
  index: number
  measure: (element: HTMLElement | null) => void
}

/** What draws the rows of a table, as a `tbody`. */
export interface BodyProps<Row> {
  rows: readonly Row[]
  keyOf: (row: Row) => string
  columnCount: number
  draw: (row: Row, place?: Place) => ReactNode
}

interface RowTableProps<Row> {
  /** What the table lists, for screen readers. */
  label: string
  columns: readonly Column<Row>[]
  /** One that is the same object as before is not drawn again. */
  rows: readonly Row[]
  keyOf: (row: Row) => string
  /** No header row is drawn; it stays for screen readers. */
  plain?: boolean
  /** Rows can be selected, by a checkbox at their beginning. */
  selection?: RowSelection<Row> | undefined
  /**
   * What a row is opened to, which is drawn in place under it; null under one that is closed. For tables that leave no
   * column out where they are narrow.
   */
  below?: ((row: Row) => ReactNode) | undefined
  /** Draws the rows where they are so many that not all are drawn; screen readers are then told their numbers. */
  Body?: ComponentType<BodyProps<Row>> | undefined
}

/**
 * Rows of two lines each. Where the table itself is narrow, a row is two lines in all. Columns keep their widths
 * whatever stands in them. A button with `data-row-target` is what its row is for: in a narrow table the whole row is it.
 */
export function RowTable<Row>(props: RowTableProps<Row>) {
  const { label, columns, rows, keyOf, plain = false, selection, below, Body } = props
  const { t } = useTranslation('common')
  const clearByEscape = ({ key }: KeyboardEvent) => key === 'Escape' && selection?.clear()
  const draw = (row: Row, place?: Place) => {
    const key = keyOf(row)
    return (
      <TableRow
        key={key}
        id={key}
        row={row}
        columns={columns}
        index={place?.index}
        measure={place?.measure}
        t={t}
        name={selection?.nameOf(row)}
        isPicked={selection?.has(key) ?? false}
        onPick={selection?.toggle}
      />
    )
  }
  return (
    <div className={classes.room} data-picks={selection !== undefined || undefined}>
      <table
        className={classes.table}
        onKeyDown={clearByEscape}
        // The header is a row, too.
        aria-rowcount={Body && rows.length + 1}
      >
        <caption className="said">{label}</caption>
        {/* Widths stand here, for a header that is not drawn gives none. */}
        <colgroup>
          {selection && <col className={classes.pick} />}
          {columns.map(column => (
            <col key={column.key} data-wide={column.wideOnly || undefined} style={{ width: column.width }} />
          ))}
        </colgroup>
        <thead className={plain ? 'said' : classes.head}>
          <tr aria-rowindex={Body && 1}>
            {selection && (
              <th scope="col" data-pick>
                <PickAll all={selection.all} onToggle={selection.toggleAll} />
              </th>
            )}
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
        {Body ? (
          <Body
            rows={rows}
            keyOf={keyOf}
            columnCount={columns.length + Number(selection !== undefined)}
            draw={draw}
          />
        ) : (
          <tbody>
            {rows.map(row => {
              if (!below) return draw(row)
              const opened = below(row)
              // Opened or not it is drawn as the same thing, so that its button keeps the focus.
              return (
                <Fragment key={keyOf(row)}>
                  {draw(row)}
                  {opened && (
                    <tr className={classes.below}>
                      <td colSpan={columns.length + Number(selection !== undefined)}>{opened}</td>
                    </tr>
                  )}
                </Fragment>
              )
            })}
          </tbody>
        )}
      </table>
    </div>
  )
}

/** Rows are numbered from 1, and the header is the first. */
const FIRST_ROW = 2

interface TableRowProps<Row> {
  id: string
  row: Row
  columns: readonly Column<Row>[]
  /** Where it stands in a long table, from 0. */
  index: number | undefined
  measure: Place['measure'] | undefined
  /** Of the table: a row that followed the language by itself would take longer to draw. */
  t: TFunction<'common'>
  /** What its checkbox is called by. */
  name: string | undefined
  isPicked: boolean
  /** Left out where rows cannot be selected. */
  onPick: RowSelection<Row>['toggle'] | undefined
}

function PlainTableRow<Row>(props: TableRowProps<Row>) {
  const { id, row, columns, index, measure, t, name, isPicked, onPick } = props
  return (
    <tr
      ref={measure}
      className={classes.row}
      data-picked={isPicked || undefined}
      data-index={index}
      aria-rowindex={index === undefined ? undefined : index + FIRST_ROW}
    >
      {onPick && (
        <td data-pick data-narrow="pick">
          <PickRow id={id} label={t('row.select', { name })} isPicked={isPicked} onPick={onPick} />
        </td>
      )}
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
  )
}

/** Drawn again only when its own row, or its being selected, has changed: a list is looked at each second. */
const TableRow = memo(PlainTableRow) as typeof PlainTableRow

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
