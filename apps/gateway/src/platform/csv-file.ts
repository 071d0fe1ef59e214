import { Readable } from 'node:stream'
import { CALL_TIMEOUT_MS } from '@berth/contract/limits'

/** Rows that are read at once: some hundred kilobytes of text, so that memory stays flat however long a file is. */
export const CSV_PAGE_ROWS = 1_000
/** Whoever reads nothing for so long is not waited for. */
const IDLE_MS = CALL_TIMEOUT_MS.download

interface CsvFile<Row> {
  head: readonly string[]
  /** The first page, which was read before anything is answered, so that what is refused is refused with its code. */
  first: readonly Row[]
  /** Reads the page after a row, in a short transaction of its own. Pages are full but for the last. */
  next: (last: Row) => Promise<readonly Row[]>
  cellsOf: (row: Row) => readonly string[]
}

/**
 * Rows as CSV (RFC 4180). Each page is read when the one before was taken, so that a slow reader holds nothing of the
 * database.
 * @returns The text; destroy it to end it.
 */
export function csvBody<Row>({ head, first, next, cellsOf }: CsvFile<Row>): Readable {
  const body = Readable.from(pages(), { objectMode: false })

  async function* pages(): AsyncGenerator<string> {
    yield* waiting(csvLine(head) + linesOf(first))
    let rows = first
    while (rows.length === CSV_PAGE_ROWS) {
      rows = await next(rows.at(-1) as Row)
      if (rows.length > 0) yield* waiting(linesOf(rows))
    }
  }
  async function* waiting(text: string): AsyncGenerator<string> {
    const timer = setTimeout(() => body.destroy(new Error('nobody reads this file')), IDLE_MS)
    timer.unref()
    try {
      yield text
    } finally {
      clearTimeout(timer)
    }
  }
  const linesOf = (rows: readonly Row[]) => rows.map(row => csvLine(cellsOf(row))).join('')
  // It may end before anybody listens.
  body.on('error', () => undefined)
  return body
}

/** A text that a spreadsheet would take for a formula is one no more: names are what people have typed. */
export function harmless(text: string): string {
  return /^[=+\-@\t\r\n＝＋－＠]/.test(text) ? `'${text}` : text
}

/** A record of RFC 4180. */
function csvLine(cells: readonly string[]): string {
  const quoted = cells.map(cell => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell))
  return `${quoted.join(',')}\r\n`
}
