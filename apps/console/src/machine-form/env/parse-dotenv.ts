import { ENV_VARIABLES_MAX } from '@berth/contract/limits'

/** A variable as a `.env` file has it. */
export interface Variable {
  name: string
  value: string
}

/** What a `.env` text comes to. */
export interface Parsed {
  /** In the order of the text; of a repeated name the last counts. */
  variables: Variable[]
  /** Numbers of the lines, from 1, that are neither a variable nor a comment. */
  unread: number[]
  /** Variables beyond as many as an instance may have, which were left out. */
  left: number
  /** The text is longer than any that is read; nothing of it was. */
  tooLong: boolean
}

/** Each variable of an instance at its longest, with comments beside it. */
export const DOTENV_CHARS_MAX = 500_000

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\', $: '$' }

/**
 * Reads a `.env` text as shells and dotenv do: comments, `export`, quotes that may hold line breaks, `=` in values, line
 * ends of any kind. Nothing is put in for `$NAME`. A name is taken as it stands, so that the rule on names says what is
 * wrong with it.
 * @param text What was pasted.
 */
export function parseDotenv(text: string): Parsed {
  const found = new Map<string, string>()
  const unread: number[] = []
  let left = 0
  if (text.length > DOTENV_CHARS_MAX) return { variables: [], unread, left, tooLong: true }
  const source = text.replace(/^\uFEFF/, '').replace(/\r\n?/g, '\n')
  let line = 1
  for (let at = 0; at < source.length; ) {
    const end = lineEnd(source, at)
    const name = nameIn(source.slice(at, end))
    if (name !== null) {
      const read = readValue(source, source.indexOf('=', at) + 1)
      if (found.has(name) || found.size < ENV_VARIABLES_MAX) found.set(name, read.value)
      else left++
      line += countBreaks(source, at, read.end)
      at = read.end
    } else {
      if (!/^\s*(?:#|$)/.test(source.slice(at, end))) unread.push(line)
      at = end
    }
    // Over the line break.
    at++
    line++
  }
  const variables = [...found].map(([name, value]) => ({ name, value }))
  return { variables, unread, left, tooLong: false }
}

/** The name that a line gives a value; null where it gives none. */
function nameIn(line: string): string | null {
  const equals = line.indexOf('=')
  const name = line
    .slice(0, Math.max(equals, 0))
    .trim()
    .replace(/^export\s+/, '')
  return name === '' || name.startsWith('#') ? null : name
}

/** A value from behind its `=`, and where the line ends that it ends in. */
function readValue(source: string, behind: number): { value: string; end: number } {
  let from = behind
  while (source[from] === ' ' || source[from] === '\t') from++
  const quote = source[from]
  if (quote === '"' || quote === "'" || quote === '`') {
    const close = closingQuote(source, from)
    const end = lineEnd(source, close)
    // What goes on behind its quote is no quoted value: the quotes are a part of it.
    if (close > 0 && /^\s*(?:#|$)/.test(source.slice(close + 1, end))) {
      const inside = source.slice(from + 1, close)
      return { value: quote === '"' ? unescaped(inside) : inside, end }
    }
  }
  const end = lineEnd(source, from)
  return { value: withoutComment(source.slice(from, end)).trim(), end }
}

/** Where a quote that opens is closed; -1 where it is not. */
function closingQuote(source: string, from: number): number {
  const quote = source[from]
  if (quote !== '"') return source.indexOf(quote ?? '', from + 1)
  for (let at = from + 1; at < source.length; at++) {
    if (source[at] === '\\') at++
    else if (source[at] === '"') return at
  }
  return -1
}

function lineEnd(source: string, from: number): number {
  const end = source.indexOf('\n', Math.max(from, 0))
  return end < 0 ? source.length : end
}

function countBreaks(source: string, from: number, to: number): number {
  let breaks = 0
  for (let at = source.indexOf('\n', from); at >= 0 && at < to; at = source.indexOf('\n', at + 1)) breaks++
  return breaks
}

/** Only what stands apart from a value is a comment: `a#b` is none. */
function withoutComment(text: string): string {
  for (let at = text.indexOf('#'); at >= 0; at = text.indexOf('#', at + 1)) {
    if (at === 0 || /\s/.test(text[at - 1] ?? '')) return text.slice(0, at)
  }
  return text
}

function unescaped(text: string): string {
  return text.replace(/\\(.)/gs, (whole, letter: string) => ESCAPES[letter] ?? whole)
}
