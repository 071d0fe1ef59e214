import type { LogEvent } from '@berth/contract/instance-page'

/** What is kept of a log, in lines and in characters: enough to search in, little enough for any device. */
export const WINDOW_LINES_MAX = 10_000
export const WINDOW_CHARS_MAX = 4_000_000

/** What is shown of a log: its last lines. A new value for each change. */
export interface LogWindow {
  lines: readonly string[]
  /** The number of the first of them, counted from where the following began. */
  first: number
  /** The line that is being written; empty where none is. */
  open: string
  /** Characters of all lines. */
  chars: number
}

export const EMPTY_WINDOW: LogWindow = { lines: [], first: 0, open: '', chars: 0 }

/**
 * What is shown after more has come.
 * @param skippedText What stands in the place of lines that were left out.
 */
export function withEvent(
  window: LogWindow,
  { lines, open, skipped }: Pick<LogEvent, 'lines' | 'open' | 'skipped'>,
  skippedText: (count: number) => string,
): LogWindow {
  const added = skipped > 0 ? [skippedText(skipped), ...lines] : lines
  const all = [...window.lines, ...added]
  let chars = window.chars + lengthOf(added)
  let from = Math.max(0, all.length - WINDOW_LINES_MAX)
  chars -= lengthOf(all.slice(0, from))
  while (chars > WINDOW_CHARS_MAX) chars -= all[from++]?.length ?? chars
  return { lines: from > 0 ? all.slice(from) : all, first: window.first + from, open, chars }
}

/**
 * The lines in which a text stands, whatever its case, with their numbers.
 * @param text Blank finds all.
 */
export function findLines(window: LogWindow, text: string): readonly { at: number; line: string }[] {
  const wanted = text.trim().toLowerCase()
  const all = window.open === '' ? window.lines : [...window.lines, window.open]
  const numbered = all.map((line, index) => ({ at: window.first + index, line }))
  return wanted === '' ? numbered : numbered.filter(({ line }) => line.toLowerCase().includes(wanted))
}

function lengthOf(lines: readonly string[]): number {
  let chars = 0
  for (const line of lines) chars += line.length
  return chars
}
