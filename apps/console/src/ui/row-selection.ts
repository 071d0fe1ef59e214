/** Which rows of a table are selected, as the table needs it. */
export interface RowSelection<Row> {
  has: (key: string) => boolean
  /**
   * Selects a row, or no more. The same function at every drawing.
   * @param through Everything from the row that was selected last to this one, which is then selected too.
   */
  toggle: (key: string, through: boolean) => void
  /** Of the rows that the table shows, on whichever page. */
  all: 'none' | 'some' | 'all'
  /** Selects all of these, or none where all are. */
  toggleAll: () => void
  clear: () => void
  /** What a row is called, for screen readers. */
  nameOf: (row: Row) => string
}
