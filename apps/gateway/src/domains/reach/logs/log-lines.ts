import { StringDecoder } from 'node:string_decoder'
import type { LogEvent } from '@berth/contract/instance-page'
import { LOG_EVENT_CHARS_MAX, LOG_EVENT_LINES_MAX, LOG_LINE_CHARS_MAX } from '@berth/contract/limits'
import { plainLine } from '../plain-log.ts'

/** What is looked at of a line: colours of a terminal may take more than its words. */
const RAW_LINE_CHARS_MAX = 4 * LOG_LINE_CHARS_MAX
const CUT = '…'

/** What came since it was taken last. */
export type LogPiece = Pick<LogEvent, 'lines' | 'open' | 'skipped'>

/** Lines out of what a machine writes, in whatever pieces it comes. However much that is, little of it is kept. */
export interface LogLines {
  add(bytes: Buffer): void
  /** @returns What came since the last time; null where nothing did. */
  take(): LogPiece | null
}

/** Makes the lines of one log. */
export function createLogLines(): LogLines {
  const decoder = new StringDecoder('utf8')
  let lines: string[] = []
  let chars = 0
  let skipped = 0
  /** What was written since the last line feed. */
  let open = ''
  let told = ''

  function end(line: string): void {
    const plain = shown(line)
    lines.push(plain)
    chars += plain.length
  }

  /** The newest stays. */
  function drop(): void {
    let from = Math.max(0, lines.length - LOG_EVENT_LINES_MAX)
    for (const line of lines.slice(0, from)) chars -= line.length
    while (chars > LOG_EVENT_CHARS_MAX) chars -= lines[from++]?.length ?? 0
    if (from === 0) return
    skipped += from
    lines = lines.slice(from)
  }

  return {
    add(bytes) {
      const [rest = '', ...begun] = decoder.write(bytes).split('\n')
      open = joined(open, rest)
      if (begun.length === 0) return
      end(open)
      open = joined('', begun.pop() ?? '')
      // Of so many at once the first would not be shown: it is not worth looking at them.
      const beyond = Math.max(0, begun.length - LOG_EVENT_LINES_MAX)
      if (beyond > 0) {
        skipped += lines.length + beyond
        lines = []
        chars = 0
      }
      for (const line of begun.slice(beyond)) end(joined('', line))
      drop()
    },
    take() {
      const now = shown(open)
      if (lines.length === 0 && now === told) return null
      const piece = { lines, open: now, skipped }
      lines = []
      chars = 0
      skipped = 0
      told = now
      return piece
    },
  }
}

/** Goes on with a line that has no end yet: what was written over goes first, then what is past any sane line. */
function joined(line: string, more: string): string {
  const whole = line + more
  if (whole.length <= RAW_LINE_CHARS_MAX) return whole
  const over = whole.lastIndexOf('\r', whole.length - 2)
  return whole.slice(over + 1).slice(0, RAW_LINE_CHARS_MAX)
}

function shown(line: string): string {
  const plain = plainLine(line)
  return plain.length <= LOG_LINE_CHARS_MAX ? plain : plain.slice(0, LOG_LINE_CHARS_MAX) + CUT
}
