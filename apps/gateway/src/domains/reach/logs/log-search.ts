import type { LogMatch, LogSearchEvent } from '@berth/contract/instance-page'
import { LOG_CONTEXT_LINES, LOG_MATCH_CHARS_MAX, LOG_MATCHES_MAX } from '@berth/contract/limits'
import { plainLine } from '../plain-log.ts'
import { createLineSplitter } from './split-lines.ts'

const CUT = '…'
/** How much stands before what was found where its line is long. */
const LEAD_CHARS = 100

/** How far a search is, without why it ended. */
export type LogSearchPiece = Omit<LogSearchEvent, 'ended'>

/** A search in a log, line by line. However many lines have it, few are kept. */
export interface LogSearch {
  add(bytes: Buffer): void
  /** There is no more to come. */
  finish(): void
  /** @returns How far it is, with what was found since the last time; null where nothing was looked at since. */
  take(): LogSearchPiece | null
}

/** Makes a search for a text, whatever its case. */
export function createLogSearch(text: string): LogSearch {
  const wanted = text.toLowerCase()
  let ready: LogMatch[] = []
  /** Found, with lines after it to come. */
  let open: LogMatch[] = []
  let before: string[] = []
  const counts = { found: 0, lines: 0, bytes: 0 }
  let told = -1

  const splitter = createLineSplitter(raw => {
    const line = plainLine(raw)
    counts.lines++
    const short = shortened(line, 0)
    for (const match of open) match.after.push(short)
    if (open[0]?.after.length === LOG_CONTEXT_LINES) settle(open.splice(0, 1))
    const at = line.toLowerCase().indexOf(wanted)
    if (at >= 0) {
      counts.found++
      open.push({ line: counts.lines, text: shortened(line, at), before, after: [] })
    }
    before = [...before.slice(-(LOG_CONTEXT_LINES - 1)), short]
  })

  /** The newest stay. */
  function settle(matches: LogMatch[]): void {
    ready.push(...matches)
    if (ready.length > LOG_MATCHES_MAX) ready = ready.slice(-LOG_MATCHES_MAX)
  }

  return {
    add(bytes) {
      counts.bytes += bytes.length
      splitter.add(bytes)
    },
    finish() {
      splitter.end()
      settle(open)
      open = []
    },
    take() {
      if (counts.bytes === told && ready.length === 0) return null
      told = counts.bytes
      const matches = ready
      ready = []
      return { matches, ...counts }
    },
  }
}

/** A line, or of a long one the part that has what was found. */
function shortened(line: string, at: number): string {
  if (line.length <= LOG_MATCH_CHARS_MAX) return line
  const from = Math.max(0, Math.min(at - LEAD_CHARS, line.length - LOG_MATCH_CHARS_MAX))
  const until = from + LOG_MATCH_CHARS_MAX
  return `${from > 0 ? CUT : ''}${line.slice(from, until)}${until < line.length ? CUT : ''}`
}
