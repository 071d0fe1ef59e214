import type { InstanceLog } from '@berth/contract/instances'
import { LOG_BYTES_MAX, LOG_LINES_MAX } from '@berth/contract/limits'

/** What is looked at of a log: colours of a terminal may take more than the words. */
const RAW_CHARS_MAX = 200_000

const ESCAPE = '\\u001b'
/** What terminals obey: titles and links, colours and moves, and what else begins with an escape. Each is read once. */
const SEQUENCES = new RegExp(
  [
    `${ESCAPE}\\][^\\u0007\\u001b\\n]*(?:\\u0007|${ESCAPE}\\\\)?`,
    `${ESCAPE}\\[[0-?]*[ -/]*[@-~]?`,
    `${ESCAPE}[ -/]*[0-~]?`,
  ].join('|'),
  'g',
)
/** Controls but for tabulators and line feeds, and marks that turn the direction in which what follows is read. */
const CONTROLS = /[\p{Cc}\u202A-\u202E\u2066-\u2069]/gu

/**
 * The end of what a machine wrote, for people: without what a terminal would obey; of a line that was written over, as
 * progress is shown, what stands there at last.
 * @param raw Whatever the machine wrote.
 * @returns At most `LOG_LINES_MAX` lines and `LOG_BYTES_MAX` bytes, and whether there was more.
 */
export function plainLog(raw: string): InstanceLog {
  const looked = raw.slice(-RAW_CHARS_MAX)
  const all = looked.replace(SEQUENCES, '').replace(/\n+$/, '').split('\n').map(writtenLast)
  const lines = all.slice(-LOG_LINES_MAX)
  const text = Buffer.from(lines.join('\n'))
  if (text.length <= LOG_BYTES_MAX) {
    return { text: text.toString(), cut: looked.length < raw.length || lines.length < all.length }
  }
  const end = text.subarray(-LOG_BYTES_MAX)
  // From the beginning of a line on, or of a character where one line is all there is.
  const from = end.indexOf(10) + 1 || end.findIndex(byte => (byte & 0xc0) !== 0x80)
  return { text: end.subarray(from).toString(), cut: true }
}

/**
 * One line of what a machine wrote, for people, as `plainLog` has it.
 * @param raw Without the line feed that ends it.
 */
export function plainLine(raw: string): string {
  return writtenLast(raw.replace(SEQUENCES, ''))
}

function writtenLast(line: string): string {
  const written = line.replace(/\r+$/, '')
  return written
    .slice(written.lastIndexOf('\r') + 1)
    .replace(CONTROLS, control => (control === '\t' ? control : ''))
}
