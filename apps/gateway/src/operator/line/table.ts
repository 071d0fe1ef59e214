import { plainLine } from './plain.ts'

/** A column: what stands above it and what of a row stands in it. */
export interface Column<Row> {
  title: string
  of(row: Row): string
  /** Numbers and money stand at the right. */
  right?: boolean
}

const GAP = '  '
/** A column that has to give way is never narrower. */
const WIDTH_MIN = 8

/**
 * A table for a terminal: titles, then a line for each row, columns apart by two spaces. Where it is wider than the
 * terminal, the widest column gives way and ends in `…`.
 * @param columns Of the terminal; null: nothing is cut.
 */
export function table<Row>(
  rows: readonly Row[],
  shape: readonly Column<Row>[],
  columns: number | null,
): string {
  const cells = rows.map(row => shape.map(column => plainLine(column.of(row))))
  const widths = shape.map(({ title }, index) =>
    Math.max(widthOf(title), ...cells.map(line => widthOf(line[index] ?? ''))),
  )
  if (columns !== null) narrow(widths, columns)
  const lines = [shape.map(({ title }) => title), ...cells]
  return lines
    .map(
      line =>
        `${line
          .map((cell, index) => fitted(cell, widths[index] ?? 0, shape[index]?.right))
          .join(GAP)
          .trimEnd()}\n`,
    )
    .join('')
}

/** Facts about one thing: names at the left. Facts without a value are left out. */
export function facts(list: readonly (readonly [string, string | null])[]): string {
  const known = list.filter((one): one is readonly [string, string] => one[1] !== null)
  const width = Math.max(...known.map(([name]) => widthOf(name)))
  return known
    .map(([name, value]) => `${fitted(name, width)}${GAP}${plainLine(value)}`.trimEnd())
    .join('\n')
    .concat('\n')
}

function narrow(widths: number[], columns: number): void {
  const total = () => widths.reduce((sum, width) => sum + width, 0) + GAP.length * (widths.length - 1)
  while (total() > columns) {
    const widest = widths.indexOf(Math.max(...widths))
    const width = widths[widest] ?? 0
    if (width <= WIDTH_MIN) return
    widths[widest] = Math.max(WIDTH_MIN, width - (total() - columns))
  }
}

function fitted(text: string, width: number, right = false): string {
  const cut = widthOf(text) > width ? `${cutTo(text, width - 1)}…` : text
  const pad = ' '.repeat(Math.max(0, width - widthOf(cut)))
  return right ? `${pad}${cut}` : `${cut}${pad}`
}

/** Columns that a text takes: letters of East Asia take two. */
function widthOf(text: string): number {
  let width = 0
  for (const letter of text) width += isWide(letter) ? 2 : 1
  return width
}

function cutTo(text: string, width: number): string {
  let cut = ''
  for (const letter of text) {
    if (widthOf(cut) + widthOf(letter) > width) break
    cut += letter
  }
  return cut
}

const isWide = (letter: string) =>
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/u.test(
    letter,
  ) || (letter.codePointAt(0) ?? 0) >= 0x1f300
